"""What vary.py and vary_chat.py share: the program's run of a call, the verdict of a draw, and the command line."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch


def generate(program, folder, call, out, more):
    """Runs `generate` with the call. Raises RuntimeError with what it says where it fails."""
    arguments = [program, "generate", str(folder), "--output", str(out), "-q", "--no_use_resolution_binning", *more]
    for key, value in call.items():
        for text in value if isinstance(value, list) else [value]:
            arguments.append(f"--{key}={text}")
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()}")


def judge(told, ours, theirs, compare):
    """Prints the verdict about what ours() makes. True: it agrees with theirs; None: the mesh that was drawn is refused."""
    try:
        mine = ours()
    except RuntimeError as error:
        refused = "E_CONSTRAINT" in str(error)
        print(f"{'refused' if refused else 'not ok'} {told}\n# {error}", flush=True)
        return None if refused else False
    wrong, worst = compare(mine, theirs)
    figures = ", ".join(f"{key} {value:.1e}" if key != "picture" else f"{key} {value}" for key, value in worst.items())
    print(f"{'not ok' if wrong else 'ok'} {told}\n# {figures}", *(f"\n# {line}" for line in wrong), flush=True)
    return not wrong


def main(doc, kinds, count, one):
    """The command line: one(options, index, folder) makes a draw and judges it. Exit: 1 where a draw does not agree."""
    parser = argparse.ArgumentParser(description=doc.partition("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(kinds))
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2, 4])
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = []
    with torch.no_grad(), tempfile.TemporaryDirectory() as scratch:
        for index in range(options.first, options.first + options.count):
            folder = (options.keep or pathlib.Path(scratch)) / str(index)
            folder.mkdir(parents=True)
            results.append(one(options, index, folder))
    print(f"{results.count(True)} of {options.count} agree, {results.count(None)} meshes are not legal for their model")
    sys.exit(False in results)
