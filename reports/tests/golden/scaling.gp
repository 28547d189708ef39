# Draws scaling.svg from scaling.dat; as PNG: gnuplot -e "format='png'" scaling.gp
if (!exists('format')) format = 'svg'
set encoding utf8
if (format eq 'svg') {
  set terminal svg noenhanced size 600,414 font 'sans-serif,11' background '#ffffff'
} else {
  set terminal pngcairo noenhanced size 1200,828 font 'sans,11' fontscale 1.5 linewidth 2 pointscale 2 background '#ffffff'
}
set output 'scaling.'.format
set multiplot
unset key
set border 3 lw 1 lc rgb '#666666'
set grid ytics lt 1 lw 0.6 lc rgb '#dcdcdc'
set label 'Made-up scaling' at screen 0.01667,0.95894 left font ',16' tc rgb '#000000' front
set arrow from screen 0.01667,0.89372 to screen 0.05000,0.89372 nohead lw 2 dt 1 lc rgb '#8c8c8c' front
set label '' at screen 0.03333,0.89372 point pt 7 ps 0.9 lc rgb '#8c8c8c' front
set label 'single' at screen 0.05833,0.89372 left font ',11' tc rgb '#222222' front
set arrow from screen 0.15153,0.89372 to screen 0.18487,0.89372 nohead lw 2 dt 1 lc rgb '#0072b2' front
set label '' at screen 0.16820,0.89372 point pt 5 ps 0.9 lc rgb '#0072b2' front
set label 'ulysses' at screen 0.19320,0.89372 left font ',11' tc rgb '#222222' front
set arrow from screen 0.29777,0.89372 to screen 0.33110,0.89372 nohead lw 2 dt 1 lc rgb '#e69f00' front
set label '' at screen 0.31443,0.89372 point pt 9 ps 0.9 lc rgb '#e69f00' front
set label 'ring' at screen 0.33943,0.89372 left font ',11' tc rgb '#222222' front
set arrow from screen 0.40990,0.89372 to screen 0.44323,0.89372 nohead lw 2 dt 2 lc rgb '#888888' front
set label 'ideal' at screen 0.45157,0.89372 left font ',11' tc rgb '#222222' front
set label 'measured · n = 7 processes a case · interval: exact order statistics of the median, >= 95 %' at screen 0.01667,0.07488 left font ',9' tc rgb '#666666' front
set label 'commit 0000000 · hardware 000000000000 · session made-up-test-data' at screen 0.01667,0.04106 left font ',9' tc rgb '#666666' front

# panel 1
set lmargin at screen 0.13667
set rmargin at screen 0.95333
set tmargin at screen 0.79227
set bmargin at screen 0.21256
set label 'toy · 64x64' at screen 0.03667,0.82850 left font ',12' tc rgb '#222222' front
set label 'latency [s]' at screen 0.04000,0.50242 center rotate by 90 tc rgb '#222222' front
set logscale xy 2
set xrange [0.85:2.36]
set xtics nomirror out scale 0.4 tc rgb '#222222' ('1' 1, '1.25' 1.25, '1.5' 1.5, '1.75' 1.75, '2' 2)
set xlabel 'ranks' offset 0,0.4 tc rgb '#222222'
set yrange [0.4016:1.25875]
set ytics nomirror out scale 0.4 tc rgb '#222222' ('0.4375' 0.4375, '0.5' 0.5, '0.625' 0.625, '0.75' 0.75, '0.875' 0.875, '1' 1, '1.25' 1.25)
plot 1.004/x with lines dt 2 lw 1.2 lc rgb '#888888', \
     'scaling.dat' index 0 using 1:2 with lines lw 1.6 dt 1 lc rgb '#8c8c8c', \
     'scaling.dat' index 1 using 1:3:(0):($4-$3) with vectors heads size screen 0.005,90 fixed lw 1.2 lc rgb '#8c8c8c', \
     'scaling.dat' index 1 using 1:2 with points pt 7 ps 0.9 lw 1 lc rgb '#8c8c8c', \
     'scaling.dat' index 2 using 1:2 with lines lw 1.6 dt 1 lc rgb '#0072b2', \
     'scaling.dat' index 3 using 1:3:(0):($4-$3) with vectors heads size screen 0.005,90 fixed lw 1.2 lc rgb '#0072b2', \
     'scaling.dat' index 3 using 1:2 with points pt 5 ps 0.9 lw 1 lc rgb '#0072b2', \
     'scaling.dat' index 4 using 1:2 with lines lw 1.6 dt 1 lc rgb '#e69f00', \
     'scaling.dat' index 5 using 1:3:(0):($4-$3) with vectors heads size screen 0.005,90 fixed lw 1.2 lc rgb '#e69f00', \
     'scaling.dat' index 5 using 1:2 with points pt 9 ps 0.9 lw 1 lc rgb '#e69f00'
unset logscale
unset multiplot
