# Draws latency.svg from latency.dat; otherwise gnuplot -e "format='pdf'" latency.gp: png, pdf or eps
if (!exists('format')) format = 'svg'
set encoding utf8
if (format eq 'svg') {
  set terminal svg noenhanced size 600,394 font 'sans-serif,11' background '#ffffff'
} else { if (format eq 'png') {
  set terminal pngcairo noenhanced size 1200,788 font 'sans,11' fontscale 1.5 linewidth 2 pointscale 2 background '#ffffff'
} else { if (format eq 'pdf') {
  set terminal pdfcairo noenhanced size 6.25in,4.1042in font 'sans,11' fontscale 0.5625 linewidth 1.5 pointscale 0.975
} else { if (format eq 'eps') {
  set terminal epscairo noenhanced size 6.25in,4.1042in font 'sans,11' fontscale 0.5625 linewidth 1.5 pointscale 0.975
} else {
  exit error "format is svg, png, pdf or eps"
} } } }
set output 'latency.'.format
set multiplot
unset key
set border 3 lw 1 lc rgb '#666666'
set grid ytics lt 1 lw 0.6 lc rgb '#dcdcdc'
set label 'Made-up latency' at screen 0.01667,0.95685 left font ',16' tc rgb '#000000' front
set object rect from screen 0.02333,0.87563 to screen 0.04667,0.90102 fc rgb '#7a7a7a' fs solid 1 noborder front
set label 'single' at screen 0.05833,0.88832 left font ',11' tc rgb '#222222' front
set object rect from screen 0.15820,0.87563 to screen 0.18153,0.90102 fc rgb '#0072b2' fs solid 1 noborder front
set label 'ulysses' at screen 0.19320,0.88832 left font ',11' tc rgb '#222222' front
set object rect from screen 0.30443,0.87563 to screen 0.32777,0.90102 fc rgb '#c98200' fs solid 1 noborder front
set label 'ring' at screen 0.33943,0.88832 left font ',11' tc rgb '#222222' front
set label 'measured · n = 7 processes a case · whiskers: interval of the median (order statistics, at least 95 %)' at screen 0.01667,0.07868 left font ',9' tc rgb '#666666' front
set label 'commit 0000000 · hardware 000000000000 · session made-up-test-data' at screen 0.01667,0.04315 left font ',9' tc rgb '#666666' front

# panel 1
set lmargin at screen 0.13667
set rmargin at screen 0.96000
set tmargin at screen 0.78173
set bmargin at screen 0.22335
set label 'toy · 64x64' at screen 0.03667,0.81980 left font ',12' tc rgb '#222222' front
set label 'latency [s]' at screen 0.04000,0.50254 center rotate by 90 tc rgb '#222222' front
set xrange [0:494.00]
set yrange [0:1.14798]
set ytics nomirror out scale 0.4 format '%g' tc rgb '#222222'
set xtics nomirror scale 0 tc rgb '#222222' ('1' 77.00, '2' 247.00, '4' 417.00)
set label 'ranks' at graph 0.5, graph 0 center offset character 0, -2.4 tc rgb '#222222'
set label '1' at first 77.00,1.007 center offset 0,0.55 font ',9' tc rgb '#444444' front
set label '0.6' at first 231.00,0.607 center offset 0,0.55 font ',9' tc rgb '#444444' front
set label '0.7' at first 263.00,0.707 center offset 0,0.55 font ',9' tc rgb '#444444' front
set label '× E_TIMEOUT' at first 417.00, graph 0.02 rotate by 90 left font ',9' tc rgb '#b04000' front
plot 'latency.dat' index 0 using 1:5:2:3:4:5 with boxxyerror lc rgb '#7a7a7a' fs solid 1 noborder, \
     'latency.dat' index 1 using 1:5:2:3:4:5 with boxxyerror lc rgb '#0072b2' fs solid 1 noborder, \
     'latency.dat' index 2 using 1:5:2:3:4:5 with boxxyerror lc rgb '#c98200' fs solid 1 noborder, \
     'latency.dat' index 3 using 1:3:(0):($4-$3) with vectors heads size first 4,90 fixed lw 1.4 lc rgb '#111111'
unset multiplot
