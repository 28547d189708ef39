# Draws scaling.svg from scaling.dat; otherwise gnuplot -e "format='pdf'" scaling.gp: png, pdf or eps
if (!exists('format')) format = 'svg'
set encoding utf8
if (format eq 'svg') {
  set terminal svg noenhanced size 600,412 font 'sans-serif,11' background '#ffffff'
} else { if (format eq 'png') {
  set terminal pngcairo noenhanced size 1200,824 font 'sans,11' fontscale 1.5 linewidth 2 pointscale 2 background '#ffffff'
} else { if (format eq 'pdf') {
  set terminal pdfcairo noenhanced size 6.25in,4.2917in font 'sans,11' fontscale 0.5625 linewidth 1.5 pointscale 0.975
} else { if (format eq 'eps') {
  set terminal epscairo noenhanced size 6.25in,4.2917in font 'sans,11' fontscale 0.5625 linewidth 1.5 pointscale 0.975
} else {
  exit error "format is svg, png, pdf or eps"
} } } }
set output 'scaling.'.format
set multiplot
unset key
set border 3 lw 1 lc rgb '#666666'
set grid ytics lt 1 lw 0.6 lc rgb '#dcdcdc'
set label 'Made-up scaling' at screen 0.01667,0.95874 left font ',16' tc rgb '#000000' front
set arrow from screen 0.01667,0.89320 to screen 0.05000,0.89320 nohead lw 2 dt 1 lc rgb '#7a7a7a' front
set label '' at screen 0.03333,0.89320 point pt 7 ps 0.9 lc rgb '#7a7a7a' front
set label 'single' at screen 0.05833,0.89320 left font ',11' tc rgb '#222222' front
set arrow from screen 0.15153,0.89320 to screen 0.18487,0.89320 nohead lw 2 dt 1 lc rgb '#0072b2' front
set label '' at screen 0.16820,0.89320 point pt 5 ps 0.9 lc rgb '#0072b2' front
set label 'ulysses' at screen 0.19320,0.89320 left font ',11' tc rgb '#222222' front
set arrow from screen 0.29777,0.89320 to screen 0.33110,0.89320 nohead lw 2 dt 1 lc rgb '#c98200' front
set label '' at screen 0.31443,0.89320 point pt 9 ps 0.9 lc rgb '#c98200' front
set label 'ring' at screen 0.33943,0.89320 left font ',11' tc rgb '#222222' front
set arrow from screen 0.40990,0.89320 to screen 0.44323,0.89320 nohead lw 2 dt 2 lc rgb '#888888' front
set label 'ideal' at screen 0.45157,0.89320 left font ',11' tc rgb '#222222' front
set label 'measured · n = 7 processes a case · whiskers: interval of the median (order statistics, at least 95 %)' at screen 0.01667,0.07524 left font ',9' tc rgb '#666666' front
set label 'commit 0000000 · hardware 000000000000 · session made-up-test-data' at screen 0.01667,0.04126 left font ',9' tc rgb '#666666' front

# panel 1
set lmargin at screen 0.11167
set rmargin at screen 0.96000
set tmargin at screen 0.79126
set bmargin at screen 0.20874
set label 'toy · 64x64' at screen 0.06667,0.82767 left font ',12' tc rgb '#222222' front
set label 'latency [s]' at screen 0.03000,0.50000 center rotate by 90 tc rgb '#222222' front
set logscale xy 2
set xrange [0.85:2.36]
set xtics nomirror out scale 0.4 tc rgb '#222222' ('1' 1, '1.25' 1.25, '1.5' 1.5, '1.75' 1.75, '2' 2)
set label 'ranks' at graph 0.5, graph -0.1583 center tc rgb '#222222' front
set yrange [0.4016:1.25875]
set ytics nomirror out scale 0.4 tc rgb '#222222' ('0.4375' 0.4375, '0.5' 0.5, '0.625' 0.625, '0.75' 0.75, '0.875' 0.875, '1' 1, '1.25' 1.25)
set label '1' at graph 0.1591, graph 0.7416 center font ',9' tc rgb '#333333' front
set label '0.604' at graph 0.8379, graph 0.2968 center font ',9' tc rgb '#333333' front
plot 1.004/x with lines dt 2 lw 1.2 lc rgb '#888888', \
     'scaling.dat' index 0 using 1:2 with lines lw 1.6 dt 1 lc rgb '#7a7a7a', \
     'scaling.dat' index 1 using 1:3:(0):($4-$3) with vectors heads size screen 0.005,90 fixed lw 1.2 lc rgb '#7a7a7a', \
     'scaling.dat' index 1 using 1:2 with points pt 7 ps 0.9 lw 1 lc rgb '#7a7a7a', \
     'scaling.dat' index 2 using 1:2 with lines lw 1.6 dt 1 lc rgb '#0072b2', \
     'scaling.dat' index 3 using 1:3:(0):($4-$3) with vectors heads size screen 0.005,90 fixed lw 1.2 lc rgb '#0072b2', \
     'scaling.dat' index 3 using 1:2 with points pt 5 ps 0.9 lw 1 lc rgb '#0072b2', \
     'scaling.dat' index 4 using 1:2 with lines lw 1.6 dt 1 lc rgb '#c98200', \
     'scaling.dat' index 5 using 1:3:(0):($4-$3) with vectors heads size screen 0.005,90 fixed lw 1.2 lc rgb '#c98200', \
     'scaling.dat' index 5 using 1:2 with points pt 9 ps 0.9 lw 1 lc rgb '#c98200'
unset logscale
unset multiplot
