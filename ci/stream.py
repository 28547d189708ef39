#!/usr/bin/env python3
"""FLUX.1-dev at full size on a machine whose memory does not hold it.

Saves 12 billion seeded parameters in bf16, in shards (24 GB), and runs one step in which weights of blocks are read from the
disk as they are needed. Prints seconds, bytes, how much of the reading was hidden, memory counted and resident, and the
rate of a plain read of the same files past the page cache. FOLDER needs 25 GB of a disk; the weights are deleted at the end,
unless --keep."""
import argparse, json, mmap, os, shutil, subprocess, time

def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--resident_weights", type=int, default=4_000_000_000, help="bytes that weights of blocks may take (4e9)")
    parser.add_argument("--policy", choices=["prefetch", "belady", "lru"], default="prefetch")
    parser.add_argument("--depth", type=int, default=1, help="blocks that are read ahead (1)")
    parser.add_argument("--model", default="flux.1-dev")
    parser.add_argument("--resolution", default="256x256")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--text_tokens", type=int, default=16)
    parser.add_argument("--keep", action="store_true", help="keep the weights, and use them again where they are")
    parser.add_argument("--save_only", action="store_true", help="save the weights, and keep them")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(__file__), "..", "build"))
    return parser.parse_args()

def write(path, document):
    with open(path, "w") as out:
        json.dump(document, out, indent=1)
    return path

def read(path):
    with open(path) as file:
        return json.load(file)

def engine(a, case, out):
    subprocess.run([os.path.join(a.build, "bin", "ditbench-engine"), "--case", case, "--out", out], check=True)
    return read(os.path.join(out, "record.json"))

def make_case(a):
    defaults = {"model": a.model, "resolution": a.resolution, "num_inference_steps": a.steps, "text_tokens": a.text_tokens,
                "platform": "local-cpu", "threads_per_rank": "auto", "offload": "disk", "offload_policy": a.policy,
                "offload_depth": a.depth, "resident_weights": a.resident_weights}
    workload = {"schema": "ditbench.workload/1", "name": "stream", "program": "denoise", "defaults": defaults,
                "axes": {"method": ["single"], "world_size": [1]},
                "measure": {"warmup_runs": 0, "iterations": 1, "deadline_s": 3600}}
    path = write(os.path.join(a.folder, "workload.json"), workload)
    said = subprocess.run([os.path.join(a.build, "bin", "ditbench"), "expand", path, "--json"], check=True, capture_output=True)
    return json.loads(said.stdout)["kept"][0]["case"]

def save(a, case):
    document = {"schema": case["schema"], "program": "save_weights", "case": case, "element": "bf16"}
    record = engine(a, write(os.path.join(a.folder, "save.json"), document), a.folder)
    print(f"saved                    {record['parameters']:,} parameters, {record['bytes'] / 1e9:.2f} GB in {record['seconds']:.0f} s, "
          f"{record['bytes_per_s'] / 1e9:.2f} GB/s")

def plain_read(folder):
    """Bytes and seconds of reading all shards past the page cache, 8 MB at a time."""
    buffer, total, began = mmap.mmap(-1, 8 << 20), 0, time.monotonic()
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".safetensors"):
            continue
        file = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_DIRECT)
        while (got := os.readv(file, [buffer])) > 0:
            total += got
        os.close(file)
    return total, time.monotonic() - began

def tell(a, record, plain):
    o, memory = record["offload"], record["memory"]
    busy = o["read_bytes"] / o["load_ns"] if o["load_ns"] else 0
    print(f"{record['samples']['latency_ns'][0] / 1e9:.1f} s for {a.steps} step(s) of {a.model} at {a.resolution} on {record['threads_per_rank']} threads")
    print(f"weights read             {o['read_bytes'] / 1e9:.2f} GB in {o['loads']} loads of {o['chunks']} blocks (predicted {o['predicted_loads']}), "
          f"{'O_DIRECT' if o['direct'] else 'page cache'}")
    print(f"reading and converting   {o['load_ns'] / 1e9:.1f} s ({busy:.2f} GB/s), waited for {o['exposed_ns'] / 1e9:.1f} s, hidden {100 * o['hidden_share']:.1f} %")
    print(f"room for blocks          {o['resident_weights'] / 1e9:.2f} GB, used {o['peak_bytes'] / 1e9:.2f} GB; staging {o['staging_bytes'] / 1e9:.2f} GB")
    print(f"memory                   {memory['total_bytes'] / 1e9:.2f} GB counted, {memory['rss_bytes'] / 1e9:.2f} GB resident at most "
          f"({100 * (memory['rss_bytes'] / memory['total_bytes'] - 1):+.1f} %)")
    print(f"a plain read             {plain[0] / 1e9:.2f} GB in {plain[1]:.1f} s, {plain[0] / plain[1] / 1e9:.2f} GB/s")

def main():
    a = arguments()
    weights, out = os.path.join(a.folder, "weights"), os.path.join(a.folder, "run")
    os.makedirs(a.folder, exist_ok=True)
    try:
        case = make_case(a)
        if not os.path.exists(os.path.join(weights, "diffusion_pytorch_model.safetensors.index.json")):
            save(a, case)
        if a.save_only:
            return
        case["model"]["weights"] = {"kind": "safetensors", "path": os.path.abspath(weights)}
        shutil.rmtree(out, ignore_errors=True)
        record = engine(a, write(os.path.join(a.folder, "stream.json"), case), out)
        tell(a, record, plain_read(weights))
    finally:
        if not (a.keep or a.save_only):
            shutil.rmtree(weights, ignore_errors=True)

if __name__ == "__main__":
    main()
