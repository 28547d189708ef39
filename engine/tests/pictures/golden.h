/* Written by engine/tests/pictures/golden.py with Pillow. */
static const golden_jpeg golden_jpegs[] = {
    {"grey.jpg", 64, 48, 0x51f241c7u},     {"progressive.jpg", 64, 48, 0xdd281253u},
    {"rgb.jpg", 64, 48, 0xf1e671f7u},      {"smooth.jpg", 64, 48, 0xfa44a493u},
    {"turned-2.jpg", 24, 16, 0x14b287feu}, {"turned-3.jpg", 24, 16, 0xad1eb25bu},
    {"turned-4.jpg", 24, 16, 0x757c0c8fu}, {"turned-5.jpg", 16, 24, 0xc245b10cu},
    {"turned-6.jpg", 16, 24, 0x2c0dc9aeu}, {"turned-7.jpg", 16, 24, 0x24aa5946u},
    {"turned-8.jpg", 16, 24, 0x96113b93u},
};
static const golden_resize golden_resizes[] = {
    {64, 48, 0x7b9b907bu},  {64, 24, 0x7f40442au}, {23, 48, 0x469cc366u}, {17, 11, 0x8fcc2c1fu}, {128, 96, 0xbe0a4e54u},
    {200, 33, 0x24278bbeu}, {1, 1, 0x674480cdu},   {64, 47, 0x4cb18ce5u}, {65, 48, 0x9302b7efu}, {500, 7, 0x401d5b74u},
};
