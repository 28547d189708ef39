#!/usr/bin/env python3
"""Prints a short table of what ci/gpu/measure.sh measured. usage: summary.py measured.json"""

import json
import statistics
import sys


def gemm_tflops(results):
    """The rate of the large product that ditbench timed in this run, or of PyTorch's; and whose it is."""
    own = results.get("time-bf16", {}).get("peak_gflop_per_s")
    if own:
        return own / 1e3, "ditbench"
    theirs = results.get("torch", {}).get("gemm_bf16_tflops")
    return (theirs, "PyTorch") if theirs else (None, "")


def print_checks(results):
    for name, found in sorted(results.items()):
        if name.startswith("kernels-"):
            verdicts = [case["verdict"] for case in found.get("cases", [])]
            print(f"{name:<16} {verdicts.count('pass')} of {len(verdicts)} operators' cases pass")
        if name.startswith("golden-"):
            folders = found.get("folders", [])
            passed = sum(folder["verdict"] == "pass" for folder in folders)
            worst = max((folder.get("worst_rel_l2", 0) for folder in folders), default=0)
            print(f"{name:<16} {passed} of {len(folders)} folders pass, worst relative L2 {worst:.2g}")


def print_attention(results):
    for case in results.get("time-bf16", {}).get("cases", []):
        if case["op"] == "attention" and "gflop_per_s" in case:
            print(f"attention {case['shape']:<44} {case['gflop_per_s'] / 1e3:7.1f} TFLOP/s")


def torch_seconds(results, case_id):
    for case in results.get("torch", {}).get("cases", []):
        if case["case_id"] == case_id:
            return {mode["mode"]: mode.get("median_s") for mode in case["modes"]}, case["label"], case["attention"]
    return {}, None, None


def print_denoising(results, gemm):
    print(f"{'denoising':<36} {'ditbench':>9} {'eager':>9} {'compiled':>9}   of the GEMM rate")
    for entry in results.get("records", []):
        record = entry["record"]
        seconds = statistics.median(record["samples"]["latency_ns"]) * 1e-9
        theirs, label, _ = torch_seconds(results, entry["case_id"])
        cells = [f"{theirs[mode]:9.3f}" if theirs.get(mode) else f"{'-':>9}" for mode in ("eager", "compiled")]
        rate = record["flops"]["total"] / seconds * 1e-12
        share = f"{rate / gemm:.2f} ({rate:.0f} TFLOP/s)" if gemm else f"({rate:.0f} TFLOP/s)"
        print(f"{label or entry['case_id']:<36} {seconds:9.3f} {' '.join(cells)}   {share}")


def main():
    document = json.load(open(sys.argv[1]))
    results = document["results"]
    gemm, whose = gemm_tflops(results)
    print(f"{document['gpu'].get('name', '?')}, driver {document['gpu'].get('driver_version', '?')}, {document['date']}")
    if gemm:
        print(f"GEMM rate {gemm:.0f} TFLOP/s in bf16 ({whose})")
    print_checks(results)
    print_attention(results)
    print_denoising(results, gemm)


if __name__ == "__main__":
    main()
