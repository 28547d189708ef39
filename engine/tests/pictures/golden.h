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
    {DIT_RESIZE_LANCZOS, 64, 48, 0x7b9b907bu},   {DIT_RESIZE_LANCZOS, 64, 24, 0x7f40442au},
    {DIT_RESIZE_LANCZOS, 23, 48, 0x469cc366u},   {DIT_RESIZE_LANCZOS, 17, 11, 0x8fcc2c1fu},
    {DIT_RESIZE_LANCZOS, 128, 96, 0xbe0a4e54u},  {DIT_RESIZE_LANCZOS, 200, 33, 0x24278bbeu},
    {DIT_RESIZE_LANCZOS, 1, 1, 0x674480cdu},     {DIT_RESIZE_LANCZOS, 64, 47, 0x4cb18ce5u},
    {DIT_RESIZE_LANCZOS, 65, 48, 0x9302b7efu},   {DIT_RESIZE_LANCZOS, 500, 7, 0x401d5b74u},
    {DIT_RESIZE_BILINEAR, 64, 48, 0x7b9b907bu},  {DIT_RESIZE_BILINEAR, 64, 24, 0xb9494f1fu},
    {DIT_RESIZE_BILINEAR, 23, 48, 0x4b018f1du},  {DIT_RESIZE_BILINEAR, 17, 11, 0xf7ec029au},
    {DIT_RESIZE_BILINEAR, 128, 96, 0xb286bd26u}, {DIT_RESIZE_BILINEAR, 200, 33, 0x506f6374u},
    {DIT_RESIZE_BILINEAR, 1, 1, 0xc934a570u},    {DIT_RESIZE_BILINEAR, 64, 47, 0x4731cc9au},
    {DIT_RESIZE_BILINEAR, 65, 48, 0x5c00b0f4u},  {DIT_RESIZE_BILINEAR, 500, 7, 0x41d8ab75u},
    {DIT_RESIZE_BICUBIC, 64, 48, 0x7b9b907bu},   {DIT_RESIZE_BICUBIC, 64, 24, 0x36ec4bc5u},
    {DIT_RESIZE_BICUBIC, 23, 48, 0xc826baffu},   {DIT_RESIZE_BICUBIC, 17, 11, 0xd2c1eddfu},
    {DIT_RESIZE_BICUBIC, 128, 96, 0x6b57f98au},  {DIT_RESIZE_BICUBIC, 200, 33, 0x13eea46au},
    {DIT_RESIZE_BICUBIC, 1, 1, 0xe756e036u},     {DIT_RESIZE_BICUBIC, 64, 47, 0x83685516u},
    {DIT_RESIZE_BICUBIC, 65, 48, 0x57d627a5u},   {DIT_RESIZE_BICUBIC, 500, 7, 0xa1af6639u},
};
