#!/usr/bin/env python3
"""Plants faults into the simulator of the Ethos-U, one at a time, and says which of its tests notice.

npu_mutations.py BUILD [--only TEXT]

BUILD is a folder configured with Ninja and tests, in which npu_simulator_tests and npu_networks_tests are built; RUNNEL_TEST_DATA names the
test data. Sources stay as they are: the changed file lies in a scratch folder, is compiled with the build's own command (less optimized), and its
object takes the place of the library's member. Exit code 0 only when every fault was noticed.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ("npu_simulator_tests", "npu_networks_tests")
HOST = "npu/host/"
SIMULATOR = HOST + "simulator/"

# The sources that a header's faults affect; all others keep their objects.
USERS = {
    "npu/arithmetic.h": (SIMULATOR + "convolution.cpp", SIMULATOR + "elementwise.cpp", SIMULATOR + "output_stage.cpp", SIMULATOR + "pool.cpp", "tests/npu/host/simulator/elementwise_test.cpp"),
    "npu/operation.h": (SIMULATOR + "feature_map.cpp",),   # address_of
    HOST + "weights.h": (HOST + "weights.cpp",),
    SIMULATOR + "window.h": (SIMULATOR + "convolution.cpp", SIMULATOR + "pool.cpp"),
}

# The fault, the file, the text and its replacement.
FAULTS = [
    # rounding
    ("tfl rounds once above a shift of 31", "npu/arithmetic.h", "rounding == Rounding::natural || scale.shift <= 31", "rounding == Rounding::natural || scale.shift <= 63"),
    ("tfl rounds ties upwards", "npu/arithmetic.h", "((high < 0 ? -high : high) + (Wide{1} << (rest - 1))) >> rest;\n  return high < 0 ? -magnitude : magnitude", "(high + (Wide{1} << (rest - 1))) >> rest;\n  return magnitude"),
    ("tfl takes the upper word without its half", "npu/arithmetic.h", "(product + (Wide{1} << 30)) >> 31", "product >> 31"),
    ("natural rounds down", "npu/arithmetic.h", "(product + (Wide{1} << (scale.shift - 1))) >> scale.shift", "product >> scale.shift"),
    ("truncate is floor", "npu/arithmetic.h", "return product >= 0 ? product >> scale.shift : -(-product >> scale.shift)", "return product >> scale.shift"),
    ("averages round ties upwards", "npu/arithmetic.h", ": -((-value + count / 2) / count)", ": -((-value + (count - 1) / 2) / count)"),
    ("averages are cut", "npu/arithmetic.h", "(value + count / 2) / count :", "value / count :"),
    ("shifts to the right do not round", SIMULATOR + "elementwise.cpp", "rounding == Rounding::natural && steps > 0", "false && steps > 0"),
    ("accumulators do not overflow", SIMULATOR + "convolution.cpp", "wrap(sums[channel] + record.bias, accumulator_bits(op))", "sums[channel] + record.bias"),
    # weight order
    ("blocks of 16 channels as depth-first ones", HOST + "weights.h", "part_kernel || wide ? 16 : 32", "32"),
    ("part-kernel steps of 2 taps", HOST + "weights.h", "round_up(elements, wide ? 2 : 4)", "round_up(elements, 2)"),
    ("depthwise steps are not filled up", HOST + "weights.h", "elements = round_up(elements, 4);", "elements = round_up(elements, 1);"),
    ("taps column by column", HOST + "weights.h", "y = y0 + e / columns, x = x0 + e % columns", "y = y0 + e % rows, x = x0 + e / rows"),
    ("sub-kernels do not end at 8 taps", HOST + "weights.h", "kMaxSubKernel = 8", "kMaxSubKernel = 64"),
    ("dilation does not shrink sub-kernels", HOST + "weights.h", "kMaxSubKernel / dilation_y, sub_width = kMaxSubKernel / dilation_x", "kMaxSubKernel, sub_width = kMaxSubKernel"),
    ("part-kernel order is depth-first", HOST + "weights.cpp", "order.part_kernel = op.kernel.part_kernel && !order.depthwise", "order.part_kernel = false"),
    ("blocks have all channels", HOST + "weights.cpp", "order.block_depth = channels_of(op.block_depth, core, op.cores)", "order.block_depth = order.outs"),
    ("micro-blocks of 8 on every accelerator", HOST + "weights.cpp", "order.ofm_ublock = accelerator.ublock_depth", "order.ofm_ublock = 8"),
    ("cores have neighbouring channels", SIMULATOR + "simulator.cpp", "static_cast<std::size_t>(core) + out * static_cast<std::size_t>(op.cores);", "static_cast<std::size_t>(core) * static_cast<std::size_t>(order.outs) + out;"),
    ("16-bit blocks as 8-bit ones", HOST + "weights.cpp", "order.wide = op.ifm.element == 2", "order.wide = false"),
    # weight bits
    ("signs are the other way round", HOST + "weights.cpp", "(code & 1) != 0 ? -magnitude : magnitude", "(code & 1) == 0 ? -magnitude : magnitude"),
    ("direct values begin at 0", HOST + "weights.cpp", "static_cast<std::uint32_t>(palette_.size()) + direct_offset_", "static_cast<std::uint32_t>(palette_.size())"),
    ("no zero run in front", HOST + "weights.cpp", "count + (new_palette ? 1 : 0)", "count"),
    ("zero runs without chunks of 8", HOST + "weights.cpp", "zero_divisor == 3 ? kFewSymbols : kSymbols", "kSymbols"),
    ("quotients are not cut", HOST + "weights.cpp", "code < 2 || truncated", "code < 2"),
    # scales
    ("bias of 32 bits without sign", HOST + "weights.cpp", "static_cast<std::int64_t>(bias << 24) >> 24", "static_cast<std::int64_t>(bias & 0xffffffff)"),
    ("scales of one core for both", SIMULATOR + "simulator.cpp", "op.scales[core].base", "op.scales[0].base"),
    ("the global scale is not used", SIMULATOR + "simulator.cpp", "if (op.global_scale) {\n      records", "if (false) {\n      records"),
    # zero points and limits
    ("convolutions without the zero point of the input", SIMULATOR + "convolution.cpp", "__builtin_sub_overflow(value, op.ifm.zero_point, &value)", "__builtin_sub_overflow(value, 0, &value)"),
    ("pooling without the zero point of the input", SIMULATOR + "pool.cpp", "std::int64_t{from[c]} - op.ifm.zero_point", "std::int64_t{from[c]}"),
    ("the second operand without its zero point", SIMULATOR + "elementwise.cpp", "b - op.ifm2.zero_point", "b"),
    ("no zero point of the output", SIMULATOR + "output_stage.cpp", "clamp_between(value + zero_point_, low_, high_)", "clamp_between(value, low_, high_)"),
    ("32-bit results have limits", SIMULATOR + "output_stage.cpp", "raw_(op.raw_output())", "raw_(false)"),
    ("no limits of the activation", SIMULATOR + "output_stage.cpp", "low_ = std::max<std::int64_t>(limits.low, op.activation.low)", "low_ = limits.low"),
    ("the clip range is not looked at", SIMULATOR + "output_stage.cpp", "case 3:\n      return {-128, 127};", ""),
    # tables
    ("8-bit tables begin at 0", SIMULATOR + "output_stage.cpp", "clamp_between(value, -128, 127) + 128 : clamp_between", "clamp_between(value, 0, 127) : clamp_between"),
    ("16-bit tables do not round", SIMULATOR + "output_stage.cpp", "(half & 127) + 64) >> 7", "(half & 127)) >> 7"),
    ("tables are all in slot 0", SIMULATOR + "output_stage.cpp", "* static_cast<std::size_t>(op.activation.slot())", "* 0"),
    # tiles, strides, layouts
    ("the second column of tiles is not used", "npu/operation.h", "const bool right = x >= map.width0;", "const bool right = false;"),
    ("rows of tiles end at the left one's height", "npu/operation.h", "right ? map.height1 : map.height0", "map.height0"),
    ("the right tile begins at the left one's columns", "npu/operation.h", "right ? x - map.width0 : x", "x"),
    ("rows below begin at the upper tile's", "npu/operation.h", "below ? y - rows : y", "y"),
    ("bricks side by side whatever STRIDE_C says", SIMULATOR + "feature_map.cpp", "c / 16 * (map.layout == Layout::nhwc ? 0 : map.stride_c)", "c / 16 * (map.layout == Layout::nhwc ? 0 : std::int64_t{16} * map.element * map.width)"),
    ("STRIDE_X is not used", "npu/operation.h", "static_cast<std::int64_t>(right ? x - map.width0 : x) *\n             (map.layout == Layout::nhwc ? map.stride_x : 16", "static_cast<std::int64_t>(right ? x - map.width0 : x) *\n             (map.layout == Layout::nhwc ? std::int64_t{map.depth} * map.element : 16"),
    # windows
    ("padding on top only on the left", SIMULATOR + "window.h", "k.top,\n", "k.left,\n"),
    ("inserted zeros are repeated values", SIMULATOR + "window.h", "upscale == Upscale::zeros && at % 2 != 0 ? -2 : at / 2", "at / 2"),
    ("padding is the largest of a window", SIMULATOR + "pool.cpp", "max ? kLeast : 0", "0"),
    ("averages count padding", SIMULATOR + "pool.cpp", "if (row == -1 || column == -1) continue;\n        ++count;", "++count;\n        if (row == -1 || column == -1) continue;"),
    # element-wise
    ("operands are never reversed", SIMULATOR + "elementwise.cpp", "return op_.reversed ? y - x : x - y", "return x - y"),
    ("32-bit products have a multiplier", SIMULATOR + "elementwise.cpp", "Scale{wide_ ? 1 : op_.ofm_scale.multiplier", "Scale{op_.ofm_scale.multiplier"),
    ("the other operand is scaled", SIMULATOR + "elementwise.cpp", "op_.operand_to_scale == 1 ? scaled(a) : moved(a)", "op_.operand_to_scale == 2 ? scaled(a) : moved(a)"),
    ("16-bit operands have the headroom of 8-bit ones", SIMULATOR + "elementwise.cpp", "op_.ifm.element == 1 ? 20 : 15", "20"),
    ("a broadcast column is not repeated", SIMULATOR + "elementwise.cpp", "op.ifm2.width > 1 ? static_cast<std::size_t>(op.ifm2.depth) : 0", "op.ifm2.depth > 1 ? static_cast<std::size_t>(op.ifm2.depth) : 0"),
    ("leaky units scale both sides", SIMULATOR + "elementwise.cpp", "return a < 0 ? output_(a, op_.ofm_scale) : output_(a)", "return output_(a, op_.ofm_scale)"),
    # copies
    ("rows of copies without skip", SIMULATOR + "simulator.cpp", "place.dimensions > 1 ? dma.skip0 : 0", "0"),
    ("planes of copies without skip", SIMULATOR + "simulator.cpp", "place.dimensions > 2 ? dma.skip1 : 0", "0"),
]


def commands(build):
    return {pathlib.Path(c["file"]).resolve(): c for c in json.loads((build / "compile_commands.json").read_text())}


def link_command(build, test):
    lines = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "-s", f"tests/npu/{test}"], check=True, capture_output=True, text=True).stdout.strip().splitlines()
    return next(line for line in reversed(lines) if f" -o tests/npu/{test}" in line)


def plant(fault, scratch, build, compile_commands):
    _, name, old, new = fault
    text = (ROOT / name).read_text()
    if text.count(old) < 1:
        sys.exit(f"{name}: has no text {old!r} any more")
    overlay = scratch / "overlay"
    target = overlay / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text.replace(old, new, 1))
    sources = [ROOT / source for source in USERS.get(name, (name,))]
    objects = []
    for source in sources:
        command = shlex.split(compile_commands[source.resolve()]["command"])
        command = [c for c in command if "ccache" not in c and c not in ("-O3", "-Werror")]
        output = scratch / (source.stem + ".o")
        at = command.index("-o")
        command[at + 1] = str(output)
        if name.endswith(".cpp"):
            command[command.index("-c") + 1] = str(target)
        command[1:1] = [f"-I{overlay}", "-O1", "-w"]
        objects.append((command, output))
    for command, _ in objects:
        subprocess.run(command, cwd=build, check=True)
    return [str(output) for _, output in objects]


def noticed(test, objects, scratch, build):
    """The first failed test, or None."""
    program = scratch / test
    command = link_command(build, test)
    members = []
    for output in objects:
        own = f"tests/npu/CMakeFiles/{test}.dir/{pathlib.Path(output).stem}.cpp.o"
        if own in command:
            command = command.replace(own, output)
        elif not output.endswith("_test.o"):
            members.append(output)
    command = command.replace(f" -o tests/npu/{test}", f" -o {program} " + " ".join(members))
    subprocess.run(command, cwd=build, shell=True, check=True, stdout=subprocess.DEVNULL)
    try:
        run = subprocess.run([str(program), "--gtest_fail_fast", "--gtest_brief=1"], capture_output=True, text=True, errors="replace", timeout=120)
    except subprocess.TimeoutExpired:
        return f"{test} (does not end)"
    if run.returncode == 0:
        return None
    failed = re.search(r"\[  FAILED  \] ([^\s,]+)", run.stdout)
    return failed.group(1) if failed else f"{test} (exit code {run.returncode})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="faults whose name contains this")
    arguments = parser.parse_args()
    if not os.environ.get("RUNNEL_TEST_DATA"):
        sys.exit("RUNNEL_TEST_DATA: the networks need it")
    build = arguments.build.resolve()
    compile_commands = commands(build)
    chosen = [fault for fault in FAULTS if arguments.only in fault[0]]
    missed = 0
    for fault in chosen:
        with tempfile.TemporaryDirectory() as folder:
            scratch = pathlib.Path(folder)
            objects = plant(fault, scratch, build, compile_commands)
            found = next((f for f in (noticed(test, objects, scratch, build) for test in TESTS) if f), None)
        missed += found is None
        print(f"{'noticed' if found else 'MISSED '}  {fault[0]}: {found or '-'}", flush=True)
    print(f"{len(chosen)} faults, {len(chosen) - missed} noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
