"""Writes the JPEG files of this folder and golden.h, what Pillow makes of them and of resizing. Usage: golden.py (Pillow 13).

A picture is a slope with noise, as `make_levels` of test_picture_read.c makes it; results are kept as CRC-32 of their bytes.
"""
import pathlib
import zlib

from PIL import Image, ImageOps

HERE = pathlib.Path(__file__).parent
SIZES = [(64, 48), (64, 24), (23, 48), (17, 11), (128, 96), (200, 33), (1, 1), (64, 47), (65, 48), (500, 7)]


def levels(width, height, seed):
    out = bytearray()
    for i in range(width * height * 3):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        x, y, c = i // 3 % width, i // 3 // width, i % 3
        out.append((x * 3 + y * 5 + c * 70 + (seed >> 27)) & 255)
    return Image.frombytes("RGB", (width, height), bytes(out))


def crc(image):
    return f"0x{zlib.crc32(image.convert('RGB').tobytes()):08x}u"


def main():
    rgb = levels(64, 48, 1)
    exif = Image.Exif()
    kinds = {"rgb": {}, "smooth": {"subsampling": 2, "quality": 80}, "progressive": {"progressive": True, "quality": 90}}
    for name, how in kinds.items():
        rgb.save(HERE / f"{name}.jpg", **how)
    rgb.convert("L").save(HERE / "grey.jpg")
    rgb.convert("CMYK").save(HERE / "inks.jpg")
    for orientation in range(2, 9):
        exif[0x0112] = orientation
        rgb.crop((0, 0, 24, 16)).save(HERE / f"turned-{orientation}.jpg", exif=exif, quality=50)
    with open(HERE / "golden.h", "w") as out:
        print("/* Written by engine/tests/pictures/golden.py with Pillow. */", file=out)
        print("static const golden_jpeg golden_jpegs[] = {", file=out)
        for path in sorted(HERE.glob("*.jpg")):
            if path.stem == "inks":
                continue
            image = ImageOps.exif_transpose(Image.open(path))
            print(f'    {{"{path.name}", {image.width}, {image.height}, {crc(image)}}},', file=out)
        print("};\nstatic const golden_resize golden_resizes[] = {", file=out)
        for by in ("LANCZOS", "BILINEAR", "BICUBIC"):
            for width, height in SIZES:
                print(f"    {{DIT_RESIZE_{by}, {width}, {height}, {crc(rgb.resize((width, height), Image.Resampling[by]))}}},", file=out)
        print("};", file=out)


main()
