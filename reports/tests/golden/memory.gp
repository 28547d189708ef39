# Draws memory.svg from memory.dat; otherwise gnuplot -e "format='pdf'" memory.gp: png, pdf or eps
if (!exists('format')) format = 'svg'
set encoding utf8
if (format eq 'svg') {
  set terminal svg noenhanced size 600,414 font 'sans-serif,11' background '#ffffff'
} else { if (format eq 'png') {
  set terminal pngcairo noenhanced size 1200,828 font 'sans,11' fontscale 1.5 linewidth 2 pointscale 2 background '#ffffff'
} else { if (format eq 'pdf') {
  set terminal pdfcairo noenhanced size 6.25in,4.3125in font 'sans,11' fontscale 0.5625 linewidth 1.5 pointscale 0.975
} else { if (format eq 'eps') {
  set terminal epscairo noenhanced size 6.25in,4.3125in font 'sans,11' fontscale 0.5625 linewidth 1.5 pointscale 0.975
} else {
  exit error "format is svg, png, pdf or eps"
} } } }
set output 'memory.'.format
set multiplot
unset key
set border 3 lw 1 lc rgb '#666666'
set grid ytics lt 1 lw 0.6 lc rgb '#dcdcdc'
set label 'Made-up memory' at screen 0.01667,0.95894 left font ',16' tc rgb '#000000' front
set object rect from screen 0.02333,0.88164 to screen 0.04667,0.90580 fc rgb '#0072b2' fs solid 1 noborder front
set label 'weights' at screen 0.05833,0.89372 left font ',11' tc rgb '#222222' front
set object rect from screen 0.16957,0.88164 to screen 0.19290,0.90580 fc rgb '#00694b' fs solid 1 noborder front
set label 'state' at screen 0.20457,0.89372 left font ',11' tc rgb '#222222' front
set object rect from screen 0.29307,0.88164 to screen 0.31640,0.90580 fc rgb '#c98200' fs solid 1 noborder front
set label 'activations' at screen 0.32807,0.89372 left font ',11' tc rgb '#222222' front
set object rect from screen 0.48477,0.88164 to screen 0.50810,0.90580 fc rgb '#b8430f' fs solid 1 noborder front
set label 'communication buffers' at screen 0.51977,0.89372 left font ',11' tc rgb '#222222' front
set arrow from screen 0.01667,0.84541 to screen 0.05000,0.84541 nohead lw 2 dt 1 lc rgb '#111111' front
set label 'resident set of the process' at screen 0.05833,0.84541 left font ',11' tc rgb '#222222' front
set label 'measured · n = 7 processes a case' at screen 0.01667,0.07488 left font ',9' tc rgb '#666666' front
set label 'commit 0000000 · hardware 000000000000 · session made-up-test-data' at screen 0.01667,0.04106 left font ',9' tc rgb '#666666' front

# panel 1
set lmargin at screen 0.13667
set rmargin at screen 0.96000
set tmargin at screen 0.74396
set bmargin at screen 0.21256
set label 'toy · 64x64' at screen 0.03667,0.78019 left font ',12' tc rgb '#222222' front
set label 'peak per rank [MB]' at screen 0.04000,0.47826 center rotate by 90 tc rgb '#222222' front
set xrange [0:494.00]
set yrange [0:22.8]
set ytics nomirror out scale 0.4 format '%g' tc rgb '#222222'
set xtics nomirror scale 0 tc rgb '#222222' ('1' 61.75, 'r2' 185.25, 'u2' 308.75, 'u4' 432.25)
set label 'parallel configuration' at graph 0.5, graph 0 center offset character 0, -2.4 tc rgb '#222222'
set label '13' at first 61.75,13 center offset 0,0.55 font ',9' tc rgb '#444444' front
set label '11' at first 185.25,11 center offset 0,0.55 font ',9' tc rgb '#444444' front
set label '11' at first 308.75,11 center offset 0,0.55 font ',9' tc rgb '#444444' front
set label '× E_TIMEOUT' at first 432.25, graph 0.02 rotate by 90 left font ',9' tc rgb '#b04000' front
plot 'memory.dat' index 0 using 1:5:2:3:4:5 with boxxyerror lc rgb '#0072b2' fs solid 1 noborder, \
     'memory.dat' index 1 using 1:5:2:3:4:5 with boxxyerror lc rgb '#00694b' fs solid 1 noborder, \
     'memory.dat' index 2 using 1:5:2:3:4:5 with boxxyerror lc rgb '#c98200' fs solid 1 noborder, \
     'memory.dat' index 3 using 1:5:2:3:4:5 with boxxyerror lc rgb '#b8430f' fs solid 1 noborder, \
     'memory.dat' index 4 using 1:2:3:4 with vectors nohead lw 2.2 lc rgb '#111111'
unset multiplot
