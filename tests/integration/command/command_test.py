#!/usr/bin/env python3
"""Runs the built command on the fixtures and holds its text, JSON and exit codes against docs/command-line.md.

  TANDEM_COMMAND=build/host/tandem TANDEM_FIXTURES=tests/fixtures TANDEM_DOCS=docs \
    TANDEM_AOTI_LIBRARIES=build/host/tests/unit/aoti/aoti_libraries TANDEM_CUSTOM_LIBRARIES=build/host/custom_libraries \
    command_test.py [CLASS[.TEST]]
"""
import ast
import json
import math
import os
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path

COMMAND = os.environ["TANDEM_COMMAND"]
FIXTURES = Path(os.environ["TANDEM_FIXTURES"])
AOTI_LIBRARIES = Path(os.environ["TANDEM_AOTI_LIBRARIES"])  # built from tests/unit/aoti/libs
CUSTOM_LIBRARIES = Path(os.environ["TANDEM_CUSTOM_LIBRARIES"])
DOCS = Path(os.environ["TANDEM_DOCS"])
FOLDERS = sorted(meta.parent for meta in FIXTURES.glob("*/meta.json"))


def tandem(*args):
    """Runs the command; the answer has returncode, stdout and stderr."""
    return subprocess.run([COMMAND, *map(str, args)], capture_output=True, text=True, timeout=280)


def data_of(folder):
    """--data for every data file of a fixture."""
    files = json.loads((folder / "meta.json").read_text())["files"]["ptd"]
    return [arg for name in files for arg in ("--data", folder / name)]


def program(name):
    return [FIXTURES / name / "program.pte", *data_of(FIXTURES / name)]


def write_npy(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    Path(path).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read_npy(path):
    """Header and raw bytes."""
    raw = Path(path).read_bytes()
    length = struct.unpack("<H", raw[8:10])[0]
    return ast.literal_eval(raw[10:10 + length].decode()), raw[10 + length:]


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def assert_good(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")

    def json_of(self, done, code=0):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def picture(self, path):
        """Parses an SVG; gives the numbers of the steps that it shows, and all its text."""
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        steps = [int(e.get("data-step")) for e in root.iter() if e.get("data-step")]
        return sorted(steps), " ".join(root.itertext())

    def assert_error(self, done, *parts):
        """Exit code 2, nothing on stdout, one line on stderr with all the parts."""
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("tandem: error: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in parts:
            self.assertIn(str(part), done.stderr)


class HelpTest(CommandTest):
    def test_help_has_examples(self):
        for command in ([], ["bench"], ["inspect"], ["check"], ["pack"], ["run"]):
            done = tandem(*command, "--help")
            self.assert_good(done)
            self.assertIn("Examples:\n  tandem ", done.stdout)

    def test_help_names_every_option(self):
        text = tandem("run", "--help").stdout
        for option in ("FILE", "--method", "--data", "--input", "--random", "--shape", "--expect", "--rtol", "--atol",
                       "--repeat", "--threads", "--streams", "--graphs", "--allow-races", "--schedule-seed", "--output", "--device",
                       "--replay", "--json"):
            self.assertIn(option, text)

    def test_help_of_check_names_every_option_and_exit_code(self):
        text = tandem("check", "--help").stdout
        for part in ("FILE", "--data", "--method", "--device", "--streams", "--svg", "--json", "per-delegate",
                     "Exit codes: 0"):
            self.assertIn(part, text)

    def test_help_of_bench_names_every_option_mode_and_exit_code(self):
        text = tandem("bench", "--help").stdout
        for part in ("FILE", "--case", "--method", "--data", "--input", "--random", "--shape", "--device", "--modes",
                     "--runs", "--warmup", "--threads", "--depth", "--svg", "--compare", "--samples", "--json",
                     "eager", "again", "graph", "auto", "threads:N", "streams:N", "depth:N", "raw-graph", "Exit codes: 0"):
            self.assertIn(part, text)

    def test_version(self):
        done = tandem("--version")
        self.assert_good(done)
        self.assertRegex(done.stdout, r"^tandem \d+\.\d+\.\d+\n$")

    def test_usage_errors(self):
        self.assert_error(tandem(), "a command is required", "bench", "inspect", "check", "pack", "run")
        self.assert_error(tandem("fly"), "fly")
        self.assert_error(tandem("run"), "FILE or --replay is required")
        self.assert_error(tandem("inspect"), "FILE is required")
        self.assert_error(tandem("inspect", "x.pte", "--method", "forward"), "--method requires --svg")
        self.assert_error(tandem("check"), "FILE is required")
        self.assert_error(tandem("pack"), "MANIFEST is required")
        self.assert_error(tandem("pack", "m.json"), "--output is required")
        self.assert_error(tandem("check", "x.pte", "--streams", "many"), "--streams", "many")
        self.assert_error(tandem("run", "x.pte", "--repeat", "0"), "--repeat")
        self.assert_error(tandem("run", "x.pte", "--threads", "many"), "--threads")
        self.assert_error(tandem("run", "x.pte", "--rtol", "-1"), "--rtol")
        self.assert_error(tandem("run", "x.pte", "--colour"), "--colour")
        self.assert_error(tandem("bench"), "FILE or --case is required")
        self.assert_error(tandem("bench", "x.pte", "--case", "y"), "--case excludes FILE")
        self.assert_error(tandem("bench", "--case", "y", "--random", "1"), "--case excludes --random")
        self.assert_error(tandem("bench", "x.pte", "--samples"), "--samples requires --json")
        self.assert_error(tandem("bench", "x.pte", "--runs", "0"), "--runs")
        self.assert_error(tandem("bench", "x.pte", "--warmup", "0"), "--warmup")
        self.assert_error(tandem("run", "x.pte", "--replay", "y"), "--replay excludes")

    def test_usage_errors_are_json_too(self):
        error = self.json_of(tandem("run", "--json"), code=2)["error"]
        self.assertEqual(error["code"], "InvalidArgument")


class InspectTest(CommandTest):
    def test_json_of_every_fixture_agrees_with_the_dump(self):
        for folder in FOLDERS:
            with self.subTest(folder.name):
                self.check_against_dump(folder)

    def check_against_dump(self, folder):
        report = self.json_of(tandem("inspect", folder / "program.pte", *data_of(folder), "--json"))
        dump = json.loads((folder / "dump.json").read_text())
        self.assertEqual(report["kind"], "pte")
        self.assertEqual(report["bytes"], dump["file_bytes"])
        self.assertTrue(report["available"], report["methods"])
        header = dump["extended_header"]
        if header is None:
            self.assertIsNone(report["header"])
        else:
            self.assertEqual(list(report["header"].values()), [header[k] for k in (
                "length", "program_size", "segment_base_offset", "segment_data_size")])
        base = header["segment_base_offset"] if header else 0
        self.assertEqual([(s["offset"], s["bytes"]) for s in report["segments"]],
                         [(base + s["offset"], s["size"]) for s in dump["program"]["segments"] or []])
        self.assertEqual([(n["key"], n["segment"]) for n in report["named_data"]],
                         [(n["key"], n["segment_index"]) for n in dump["program"]["named_data"] or []])
        self.assertEqual([m["name"] for m in report["methods"]],
                         [p["name"] for p in dump["program"]["execution_plan"]])
        for method, plan in zip(report["methods"], dump["program"]["execution_plan"]):
            self.check_method(method, plan)
        for data in report["data_files"]:
            truth = dump["data_files"][Path(data["file"]).name]
            self.assertEqual([n["key"] for n in data["named_data"]],
                             [n["key"] for n in truth["flat_tensor"]["named_data"]])

    def check_method(self, method, plan):
        self.assertEqual([v["index"] for v in method["inputs"]], plan["inputs"])
        self.assertEqual([v["index"] for v in method["outputs"]], plan["outputs"])
        kinds = {"Tensor": "tensor", "Int": "int", "Double": "double", "Bool": "bool", "String": "string",
                 "Null": "none", "IntList": "int_list", "DoubleList": "double_list", "BoolList": "bool_list",
                 "TensorList": "tensor_list", "OptionalTensorList": "optional_tensor_list"}
        self.assertEqual([v["kind"] for v in method["values"]], [kinds[v["type"]] for v in plan["values"]])
        for value, truth in zip(method["values"], plan["values"]):
            if truth["type"] == "Tensor":
                self.assertEqual(value["shape"], truth["sizes"])
                self.assertEqual(value["dim_order"], truth["dim_order"])
                self.assertEqual(value["memory"] is None, truth["allocation_info"] is None)
            elif truth["type"] == "Int":
                self.assertEqual(value["value"], truth["int_val"])
        names = [o["name"] + ("." + o["overload"] if o["overload"] else "") for o in plan["operators"]]
        self.assertEqual([o["name"] for o in method["operators"]], names)
        self.assertEqual([d["id"] for d in method["delegates"]], [d["id"] for d in plan["delegates"]])
        self.assertEqual([a["bytes"] for a in method["memory"]["arenas"]], plan["non_const_buffer_sizes"][1:])
        kinds = {"KernelCall": "kernel", "DelegateCall": "delegate", "MoveCall": "move", "JumpFalseCall": "jump_false",
                 "FreeCall": "free"}
        for chain, truth in zip(method["chains"], plan["chains"], strict=True):
            self.assertEqual([i["kind"] for i in chain["instructions"]],
                             [kinds[i["type"]] for i in truth["instructions"]])
            for ours, theirs in zip(chain["instructions"], truth["instructions"]):
                if ours["kind"] in ("kernel", "delegate"):
                    self.assertEqual(ours["args"], theirs["args"])
                elif ours["kind"] == "jump_false":
                    self.assertEqual(ours["destination"], theirs["destination_instruction"])

    def test_text_shows_tables(self):
        done = tandem("inspect", *program("digits"))
        self.assert_good(done)
        self.assertIn("program (.pte)", done.stdout)
        self.assertIn("float32 <=360x1x8x8", done.stdout)
        self.assertRegex(done.stdout, r"\n +0 +delegate 0 AotiHostBackendB? +\(v0\) -> \(v1\)\n")
        self.assertIn("method_name=forward", done.stdout)

    def test_text_shows_every_kind_of_instruction(self):
        text = tandem("inspect", *program("map_host")).stdout
        self.assertRegex(text, r"move v\d+ -> v\d+|if not v\d+ go to \d+")
        self.assertIn("executorch_prim::et_copy_index.tensor", text)

    def test_text_of_every_fixture_is_printable(self):
        for folder in FOLDERS:
            done = tandem("inspect", folder / "program.pte", *data_of(folder), "--instructions")
            self.assert_good(done)
            self.assertTrue(all(c == "\n" or c.isprintable() for c in done.stdout), folder.name)

    def test_names_missing_keys(self):
        done = tandem("inspect", FIXTURES / "mlp" / "program.pte")
        self.assert_good(done)
        self.assertIn("NOT available here", done.stdout)
        self.assertIn("_weights_blob (weights of delegate 0)", done.stdout)
        self.assertIn("MISSING", done.stdout)
        report = self.json_of(tandem("inspect", FIXTURES / "plain_ptd" / "program.pte", "--json"))
        self.assertFalse(report["available"])
        self.assertIn("a.weight", report["methods"][0]["problems"][0])

    def test_inspect_and_run_agree_that_empty_weights_are_not_needed(self):
        path = FIXTURES / "add" / "program.pte"
        self.assertTrue(self.json_of(tandem("inspect", path, "--json"))["available"])
        self.assert_good(tandem("run", path, "--random", 1))

    def test_names_what_this_build_lacks(self):
        path = self.folder / "program.pte"
        raw = (FIXTURES / "split25" / "program.pte").read_bytes()
        path.write_bytes(raw.replace(b"AotiHostBackendB", b"SomeOtherBackend"))
        data = data_of(FIXTURES / "split25")
        done = tandem("inspect", path, *data)
        self.assert_good(done)
        self.assertIn("SomeOtherBackend: not available in this build", done.stdout)
        delegates = self.json_of(tandem("inspect", path, *data, "--json"))["methods"][0]["delegates"]
        self.assertEqual({(d["id"], d["available"]) for d in delegates},
                         {("AotiHostBackend", True), ("SomeOtherBackend", False)})
        self.assert_error(tandem("run", path, *data, "--random", 1), "BackendMissing", "SomeOtherBackend")

    def test_data_file(self):
        path = FIXTURES / "plain_ptd" / "_default_external_constant.ptd"
        done = tandem("inspect", path)
        self.assert_good(done)
        self.assertIn("data file (.ptd)", done.stdout)
        self.assertRegex(done.stdout, r"a\.weight +288 +\d+ +float32 12x6")
        report = self.json_of(tandem("inspect", path, "--json"))
        self.assertEqual(report["kind"], "ptd")
        self.assertIn({"dtype": "float32", "shape": [12, 6], "dim_order": [0, 1]},
                      [n["layout"] for n in report["named_data"]])

    def test_schedule_tells_how_full_the_arenas_are(self):
        done = tandem("inspect", *program("split25"), "--schedule")
        self.assert_good(done)
        self.assertRegex(done.stdout, r"buffer +values +bytes +most in use +at step +ratio\n +\d+ +24 +32768 +32768 +1 +1.00\n")
        report = self.json_of(tandem("inspect", *program("split25"), "--schedule", "--json"))
        (arena,) = report["arenas"]
        self.assertEqual(report["buffers"][arena["buffer"]]["kind"], "arena")
        self.assertEqual((arena["bytes"], arena["peak_bytes"], arena["peak_step"], arena["ratio"]), (32768, 32768, 1, 1.0))
        self.assertEqual(arena["values"][0], {"value": 7, "first_step": 0, "last_step": 1, "offset": 0, "bytes": 16384})
        done = tandem("inspect", *program("mlp"), "--schedule")
        self.assertNotIn("arenas", done.stdout, "it has none")


class InspectPictureTest(CommandTest):
    def test_every_fixture_has_a_picture_with_every_step(self):
        for folder in FOLDERS:
            report = self.json_of(tandem("inspect", folder / "program.pte", "--json"))
            for method in report["methods"]:
                with self.subTest(folder.name, method=method["name"]):
                    svg = self.folder / "x.svg"
                    self.assert_good(tandem("inspect", folder / "program.pte", "--method", method["name"], "--svg", svg))
                    steps, text = self.picture(svg)
                    self.assertEqual(steps, list(range(sum(len(c["instructions"]) for c in method["chains"]))))
                    for delegate in method["delegates"]:
                        self.assertIn(f"delegate {delegate['index']}", text)
                        self.assertIn(delegate["id"], text)
                    for i in range(len(method["inputs"])):
                        self.assertIn(f"input {i}", text)
                    for i in range(len(method["outputs"])):
                        self.assertIn(f"output {i}", text)

    def test_a_chain_is_no_strip(self):
        svg = self.folder / "x.svg"
        self.assert_good(tandem("inspect", *program("split25"), "--svg", svg))
        root = xml.etree.ElementTree.parse(svg).getroot()
        self.assertLess(int(root.get("width")), 1500)
        self.assertLess(int(root.get("height")), 800)

    def test_backends_that_are_missing_here(self):
        renamed = self.folder / "program.pte"  # the program is then of a backend that nobody has
        raw = (FIXTURES / "digits" / "program.pte").read_bytes()
        renamed.write_bytes(raw.replace(b"AotiHostBackend", b"NobodysBackends"))
        svg = self.folder / "x.svg"
        self.assert_good(tandem("inspect", renamed, "--svg", svg))
        steps, text = self.picture(svg)
        self.assertEqual(steps, [0, 1, 2])
        self.assertIn("NobodysBackends", text)

    def test_memory_over_time(self):
        for folder in FOLDERS:
            report = self.json_of(tandem("inspect", folder / "program.pte", "--json"))
            for method in report["methods"]:
                with self.subTest(folder.name, method=method["name"]):
                    svg = self.folder / "x.svg"
                    done = tandem("inspect", *program(folder.name), "--schedule", "--method", method["name"], "--svg", svg, "--json")
                    arenas = self.json_of(done)["arenas"]
                    root = xml.etree.ElementTree.parse(svg).getroot()
                    drawn = sorted(int(e.get("data-value")) for e in root.iter() if e.get("data-value"))
                    shown = [v for a in arenas for v in a["values"] if v["first_step"] is not None and v["bytes"] > 0]
                    self.assertEqual(drawn, sorted(v["value"] for v in shown))
                    self.assertTrue(root.findtext("{http://www.w3.org/2000/svg}desc").startswith("Where values lie"))
                    for arena in arenas:
                        self.assertIn(f"{arena['bytes']} byte", " ".join(root.itertext()))

    def test_the_memory_picture_of_the_docs(self):
        svg = self.folder / "x.svg"
        self.assert_good(tandem("inspect", *program("portable"), "--schedule", "--svg", svg))
        self.assertEqual(svg.read_text(), (DOCS / "memory.svg").read_text())

    def test_errors(self):
        path = FIXTURES / "multi" / "program.pte"
        svg = self.folder / "x.svg"
        self.assert_error(tandem("inspect", path, "--svg", svg), "--method with one of: decode, encode")
        self.assert_error(tandem("inspect", path, "--method", "fly", "--svg", svg), "MethodNotFound", "fly", "decode")
        self.assert_error(tandem("inspect", *program("mlp"), "--svg", self.folder / "no" / "x.svg"), "NotFound", "x.svg")
        self.assert_error(tandem("inspect", *program("mlp"), "--svg", self.folder), "AccessFailed", self.folder)
        self.assert_error(tandem("inspect", *program("mlp"), "--schedule", "--svg", self.folder), "AccessFailed", self.folder)
        self.assert_error(tandem("inspect", FIXTURES / "mlp" / "aoti_cpu_blob.ptd", "--svg", svg), "--svg goes with")
        self.assertFalse(svg.exists())


class CheckTest(CommandTest):
    def test_every_fixture_is_good(self):
        for folder in FOLDERS:
            with self.subTest(folder.name):
                report = self.json_of(tandem("check", folder / "program.pte", *data_of(folder), "--json"))
                self.assertTrue(report["good"] and report["sound"])
                self.assertIsNone(report["error"])
                for method in report["methods"]:
                    self.assertTrue(method["runnable"] and method["ordered"])
                    self.assertEqual(method["missing"], [])
                    self.assertEqual(method["order"]["policy"], "per-thread")
                    self.assertEqual(method["order"]["conflicts"], [])
                    self.assertEqual(method["stream_per_delegate"]["policy"], "per-delegate")

    def test_text(self):
        done = tandem("check", *program("split25"))
        self.assert_good(done)
        lines = done.stdout.splitlines()
        self.assertTrue(lines[0].endswith("program.pte: good"))
        self.assertEqual(lines[1:5], ["sound       yes  the program and 1 data file", "method forward",
                                      "  runnable  yes", "  ordered   yes  25 steps on 1 stream (per-thread)"])
        self.assertRegex(lines[5], r"^  with a stream per delegate: \d+ conflicts in \d+ pairs of steps$")
        for part in ("delegate 0, AotiHostBackend)", "delegate 1, AotiHostBackendB)", "value 7", "bytes [0, 16384)",
                     "stream 1", "nothing makes stream 2 wait"):
            self.assertIn(part, lines[6])
        self.assertRegex(lines[-1], r"^    \.\.\. \d+ more, --json lists all$")

    def test_buffers_that_may_be_one_are_named(self):
        undecided = lambda *args: self.json_of(tandem("check", *args, "--json"))["undecided_buffers"]
        self.assertIn("m.memory", undecided(*program("two_methods_host")))
        self.assertIn("m.cos", undecided(*program("shared_table")))
        self.assertEqual(undecided(*program("two_methods_listed")), [])
        for rule in ("all", "none", "m.memory"):
            self.assertEqual(undecided(*program("two_methods_host"), "--share-buffers", rule), [])
        done = tandem("check", *program("two_methods_host"))
        self.assert_good(done)
        self.assertIn("buffers     undecided: m.memory", done.stdout)
        self.assertIn("--share-buffers", done.stdout)

    def test_a_device_that_is_not_there_makes_a_program_not_runnable_here(self):
        done = tandem("check", *program("mlp"), "--device", "cuda:63")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cuda:63", done.stdout)
        self.assert_error(tandem("check", *program("mlp"), "--device", "abacus"), "abacus")

    def test_a_stream_per_delegate_is_refused_for_a_chain(self):
        done = tandem("check", *program("split25"), "--streams", "per-delegate")
        self.assertEqual(done.returncode, 1)
        self.assertIn("program.pte: NOT good", done.stdout)
        self.assertIn("  ordered   NO   25 steps on 25 streams (per-delegate): ", done.stdout)
        report = self.json_of(tandem("check", *program("split25"), "--streams", "per-delegate", "--json"), code=1)
        self.assertFalse(report["good"])
        order = report["methods"][0]["order"]
        self.assertEqual((order["policy"], order["steps"], order["streams"]), ("per-delegate", 25, 25))
        pairs = {(c["first"]["step"], c["second"]["step"]) for c in order["conflicts"]}
        self.assertEqual(len(pairs), order["pairs"])
        self.assertLessEqual({(i, i + 1) for i in range(24)}, pairs, "each delegate reads what the last one writes")
        first = order["conflicts"][0]
        self.assertEqual(first["first"], {"step": 0, "chain": 0, "instruction": 0, "delegate": 0,
                                          "backend": "AotiHostBackend", "operator": None, "stream": 1,
                                          "access": "write", "value": 7})
        self.assertEqual(first["second"]["access"], "read")
        self.assertEqual((first["memory"], first["arena"], first["begin"], first["end"]), ("arena", 1, 0, 16384))
        self.assertIn("nothing makes stream 2 wait", first["text"])

    def test_a_stream_per_delegate_may_be_good(self):
        done = tandem("check", *program("digits"), "--streams", "per-delegate")
        self.assertEqual(done.returncode, 1, "three delegates in a row")
        done = tandem("check", *program("mlp"), "--streams", "per-delegate")
        self.assert_good(done)
        self.assertIn("  ordered   yes  1 step on 1 stream (per-delegate)\n", done.stdout)

    def test_one_method(self):
        report = self.json_of(tandem("check", *program("multi"), "--method", "encode", "--json"))
        self.assertEqual([m["name"] for m in report["methods"]], ["encode"])

    def test_what_is_missing_is_named(self):
        renamed = self.folder / "program.pte"
        raw = (FIXTURES / "digits" / "program.pte").read_bytes()
        renamed.write_bytes(raw.replace(b"AotiHostBackend", b"NobodysBackends"))
        done = tandem("check", renamed, "--data", FIXTURES / "digits" / "aoti_cpu_blob.ptd")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "")
        self.assertIn("sound       yes", done.stdout)
        self.assertIn("  runnable  NO   NobodysBackends: not available", done.stdout)
        self.assertIn("                 NobodysBackendsB: not available", done.stdout)
        self.assertIn("  ordered   not checked: needs the delegates", done.stdout)
        method = self.json_of(tandem("check", renamed, "--json"), code=1)["methods"][0]
        self.assertEqual((method["runnable"], method["ordered"], method["order"]), (False, None, None))
        self.assertEqual(method["error"]["code"], "BackendMissing")

    def test_missing_data_is_named(self):
        done = tandem("check", FIXTURES / "mlp" / "program.pte")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no data file has the key", done.stdout)

    def test_a_damaged_program_is_an_answer(self):
        cut = self.folder / "cut.pte"
        raw = (FIXTURES / "mlp" / "program.pte").read_bytes()
        cut.write_bytes(raw[:len(raw) // 2])
        done = tandem("check", cut)
        self.assertEqual(done.returncode, 1)
        self.assertIn("sound       NO   InvalidProgram", done.stdout)
        report = self.json_of(tandem("check", cut, "--json"), code=1)
        self.assertEqual((report["sound"], report["methods"]), (False, []))
        self.assertEqual(report["error"]["code"], "InvalidProgram")

    def test_picture(self):
        svg = self.folder / "order.svg"
        done = tandem("check", *program("split25"), "--streams", "per-delegate", "--svg", svg)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"picture     {svg}\n", done.stdout)
        steps, text = self.picture(svg)
        self.assertEqual(steps, list(range(25)))
        for stream in range(1, 26):
            self.assertIn(f"stream {stream}", text)
        self.assertIn("pairs of steps that nothing orders", text)
        report = self.json_of(tandem("check", *program("split25"), "--svg", svg, "--json"))
        self.assertEqual(report["picture"], str(svg))
        self.assertNotIn("nothing orders", self.picture(svg)[1])

    def test_pictures_of_every_fixture(self):
        svg = self.folder / "x.svg"
        for folder in FOLDERS:
            with self.subTest(folder.name):
                method = json.loads((folder / "dump.json").read_text())["program"]["execution_plan"][0]
                done = tandem("check", folder / "program.pte", *data_of(folder), "--method", method["name"],
                              "--streams", "per-delegate", "--svg", svg)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                steps, _ = self.picture(svg)
                self.assertEqual(steps, list(range(sum(len(c["instructions"]) for c in method["chains"]))))

    def test_no_picture_of_what_does_not_load(self):
        svg = self.folder / "x.svg"
        done = tandem("check", FIXTURES / "mlp" / "program.pte", "--svg", svg)
        self.assertEqual(done.returncode, 1)
        self.assertIn("tandem: no picture: forward was not loaded", done.stderr)
        self.assertFalse(svg.exists())

    def test_errors(self):
        self.assert_error(tandem("check", "nowhere.pte"), "NotFound", "nowhere.pte")
        self.assert_error(tandem("check", *program("mlp"), "--method", "fly"), "MethodNotFound", "fly", "forward")
        self.assert_error(tandem("check", *program("multi"), "--svg", self.folder / "x.svg"), "--method with one of")
        self.assert_error(tandem("check", *program("mlp"), "--svg", self.folder / "no" / "x.svg"), "NotFound", "x.svg")
        self.assert_error(tandem("check", *program("mlp"), "--svg", "/dev/full"), "AccessFailed", "/dev/full")
        error = self.json_of(tandem("check", "nowhere.pte", "--json"), code=2)["error"]
        self.assertEqual(error["code"], "NotFound")


class InspectErrorTest(CommandTest):
    def test_files_that_cannot_be_read(self):
        self.assert_error(tandem("inspect", "nowhere.pte"), "NotFound", "nowhere.pte")
        self.assert_error(tandem("inspect", self.folder), "AccessFailed", self.folder)
        self.assert_error(tandem("inspect", "/dev/null"), "AccessFailed", "/dev/null")
        empty = self.folder / "empty.pte"
        empty.touch()
        self.assert_error(tandem("inspect", empty), "InvalidProgram", empty)

    def test_damaged_program_is_named_with_its_offset(self):
        raw = (FIXTURES / "mlp" / "program.pte").read_bytes()
        cut = self.folder / "cut.pte"
        cut.write_bytes(raw[:len(raw) // 2])
        error = self.json_of(tandem("inspect", cut, "--json"), code=2)["error"]
        self.assertEqual(error["code"], "InvalidProgram")
        self.assertEqual(error["site"]["file"], str(cut))
        self.assertIn("offset", error["site"])

    def test_program_where_a_data_file_belongs(self):
        path = FIXTURES / "mlp" / "program.pte"
        self.assert_error(tandem("inspect", path, "--data", path), "InvalidExternalData", path)

    def test_one_data_file_twice(self):
        path = FIXTURES / "mlp" / "aoti_cpu_blob.ptd"
        self.assert_error(tandem("inspect", FIXTURES / "mlp" / "program.pte", "--data", path, "--data", path),
                          "InvalidArgument", "_weights_blob")

    def test_data_of_a_data_file(self):
        path = FIXTURES / "mlp" / "aoti_cpu_blob.ptd"
        self.assert_error(tandem("inspect", path, "--data", path), "--data goes with a program")


def tensor(sizes, dtype="float32", **more):
    return {"dtype": dtype, "sizes": sizes, **more}


class PackCase(CommandTest):
    def setUp(self):
        super().setUp()
        for library in ("scaled", "counter"):
            shutil.copy(AOTI_LIBRARIES / f"{library}.so", self.folder)
        self.pte = self.folder / "model.pte"

    def write(self, *methods, **more):
        path = self.folder / "model.json"
        path.write_text(json.dumps({"tandem_pack": 1, **more, "methods": methods}, indent=1))
        return path

    def floats(self, name, numbers, shape=None):
        write_npy(self.folder / name, "<f4", shape or (len(numbers),), struct.pack(f"<{len(numbers)}f", *numbers))
        return self.folder / name

    def assert_computes(self, x, y, *options):
        self.assert_good(tandem("run", self.pte, "--input", self.floats("x.npy", x), "--expect",
                                self.floats("y.npy", y), *options))

    # Adds and multiplies around a delegate: y = (x + 1) * 2.5 * x, for up to 16 numbers.
    SCALED = {
        "name": "forward",
        "values": {**{name: tensor([16], dynamic=True) for name in ("x", "a", "b", "y")},
                   "one": tensor([1], constant=[1]), "factor": 2.5},
        "delegates": {"scale": {"backend": "AotiHostBackend", "library": "scaled.so"}},
        "inputs": ["x"],
        "outputs": ["y"],
        "steps": [{"op": "aten::add.out", "args": ["x", "one", 1, "a"]},
                  {"delegate": "scale", "args": ["a", "factor", "b"]},
                  {"op": "aten::mul.out", "args": ["b", "x", "y"]}],
    }

    # A delegate with weights and state of its own, counter.cpp: y = weight * x + count, then count += 10 * weight[0].
    COUNTER = {
        "name": "count",
        "values": {"x": tensor([4]), "y": tensor([4]), "address": tensor([], dtype="int64")},
        "delegates": {"counter": {
            "backend": "AotiHostBackend", "library": "counter.so", "external": True,
            "weights": {"layer.weight": tensor([4], constant={"file": "weight.npy"}),
                        "count": tensor([1], constant=[100])}}},
        "inputs": ["x"],
        "outputs": ["y"],
        "steps": [{"delegate": "counter", "args": ["x", "y", "address"]}],
    }


class PackTest(PackCase):
    def test_delegate_between_operators(self):
        self.assert_good(tandem("pack", self.write(self.SCALED), "-o", self.pte))
        for x in ([1, 2, -3], [0.5], [float(i) for i in range(16)]):
            self.assert_computes(x, [(v + 1) * 2.5 * v for v in x])
        self.assert_good(tandem("check", self.pte))
        done = tandem("run", self.pte, "--random", 1, "--repeat", 100, "--schedule-seed", 1)
        self.assert_good(done)
        self.assertIn("1 distinct", done.stdout)
        self.assertEqual(tandem("run", self.pte, "--random", 1, "--shape", "0:17").returncode, 2)

    def test_weights_methods_and_data_file(self):
        self.floats("weight.npy", [1, 2, 3, 4])
        done = tandem("pack", self.write(self.SCALED, self.COUNTER), "-o", self.pte, "--json")
        report = self.json_of(done)
        ptd = self.folder / "model.ptd"
        self.assertEqual([(f["file"], f["bytes"]) for f in report["files"]],
                         [(str(f), f.stat().st_size) for f in (self.pte, ptd)])
        self.assertEqual([(m["name"], m["instructions"], [d["backend"] for d in m["delegates"]])
                          for m in report["methods"]],
                         [("forward", 3, ["AotiHostBackend"]), ("count", 1, ["AotiHostBackend"])])
        self.assertEqual(sorted((d["bytes"], d["external"]) for d in report["data"] if d["external"]),
                         [(4, True), (16, True)])
        x = [1.0, 1.0, 2.0, 0.5]
        self.assert_computes(x, [101, 102, 106, 102], "--data", ptd, "--method", "count")
        self.assertEqual(tandem("run", self.pte, "--method", "count", "--random", 1).returncode, 2, "without the data")

        inspected = self.json_of(tandem("inspect", self.pte, "--data", ptd, "--json"))
        self.assertTrue(inspected["available"], inspected)
        keys = inspected["methods"][1]["delegates"][0]["keys"]
        self.assertEqual([(k["purpose"], k["found"], Path(k["file"]).name) for k in keys],
                         [("library", True, "model.pte"), ("constant", True, "model.ptd"),
                          ("constant", True, "model.ptd")])
        x = next(v for v in inspected["methods"][0]["values"] if v["kind"] == "tensor")
        self.assertEqual((x["shape"], x["dynamism"]), ([16], "bounded"))

    def test_weights_as_a_blob(self):
        # Constants of this library are padded to 64 bytes.
        (self.folder / "weights.bin").write_bytes(struct.pack("<4f48x", 1, 2, 3, 4) + struct.pack("<f60x", 100))
        method = {**self.COUNTER, "delegates": {"counter": {
            "backend": "AotiHostBackend", "library": "counter.so", "weights": "weights.bin"}}}
        self.assert_good(tandem("pack", self.write(method), "-o", self.pte))
        self.assertFalse((self.folder / "model.ptd").exists())
        self.assert_computes([1.0, 1.0, 2.0, 0.5], [101, 102, 106, 102])

    def test_delegates_with_one_library_and_different_weights(self):
        def counter(first):
            return {"backend": "AotiHostBackendB", "library": "counter.so",
                    "weights": {"layer.weight": tensor([4], constant=[first, 1, 1, 1]),
                                "count": tensor([1], constant=[0])}}
        method = {**self.COUNTER, "values": {**self.COUNTER["values"], "h": tensor([4])},
                  "delegates": {"a": counter(2), "b": counter(3)},
                  "steps": [{"delegate": "a", "args": ["x", "h", "address"]},
                            {"delegate": "b", "args": ["h", "y", "address"]}]}
        self.assert_good(tandem("pack", self.write(method), "-o", self.pte))
        self.assert_computes([1.0, 2.0, 3.0, 4.0], [6, 2, 3, 4])

    def test_mutable_tensor_across_runs(self):
        method = {"name": "forward",
                  "values": {"x": tensor([2]), "y": tensor([2]),
                             "sum": tensor([2], mutable=True, initial={"file": "start.npy"})},
                  "inputs": ["x"], "outputs": ["y"],
                  "steps": [{"op": "aten::add.out", "args": ["sum", "x", 1, "y"]},
                            {"op": "aten::copy_", "args": ["sum", "y", False]}]}
        self.floats("start.npy", [10, 20])
        self.assert_good(tandem("pack", self.write(method), "-o", self.pte))
        self.assert_computes([1, 2], [11, 22])
        report = self.json_of(tandem("run", self.pte, "--input", self.floats("x.npy", [1, 2]), "--repeat", 3, "--json"))
        self.assertEqual(report["distinct_results"], 3)
        buffers = self.json_of(tandem("inspect", self.pte, "--json"))["methods"][0]["memory"]["mutable_buffers"]
        self.assertEqual([b["name"] for b in buffers], ["sum"])

    def test_same_manifest_same_bytes(self):
        other = self.folder / "other.pte"
        self.assert_good(tandem("pack", self.write(self.SCALED), "-o", self.pte))
        self.assert_good(tandem("pack", self.write(self.SCALED), "-o", other))
        self.assertEqual(self.pte.read_bytes(), other.read_bytes())

    def test_named_data_file(self):
        self.floats("weight.npy", [1, 2, 3, 4])
        ptd = self.folder / "weights.ptd"
        done = tandem("pack", self.write(self.COUNTER), "-o", self.pte, "--ptd", ptd)
        self.assert_good(done)
        self.assertIn(f"{ptd}: ", done.stdout)
        self.assertFalse((self.folder / "model.ptd").exists())
        self.assert_good(tandem("check", self.pte, "--data", ptd))

    def test_example_of_the_documentation(self):
        text = (DOCS / "pack.md").read_text()
        manifest = text.split("cat > model.json <<'END'\n")[1].split("END\n")[0]
        (self.folder / "model.json").write_text(manifest)
        self.assert_good(tandem("pack", self.folder / "model.json", "-o", self.pte))
        self.assert_good(tandem("check", self.pte))
        x = [1, -2, 0.25]
        self.assert_computes(x, [(v + 0.5) * 3 for v in x], "--method", "forward")
        self.assert_good(tandem("run", self.pte, "--method", "read_total", "--expect", self.floats("y.npy", [0])))

        shown = text.split("$ tandem pack model.json -o model.pte\n")[1].split("\n")[0]
        (self.folder / "model.json").write_text(manifest.replace('["shifted", 3.0', '["shiftet", 3.0'))
        done = subprocess.run([Path(COMMAND).resolve(), "pack", "model.json", "-o", "model.pte"], cwd=self.folder,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, shown + "\n")


    def test_example_of_the_documentation_of_kernels(self):
        text = (DOCS / "custom-kernels.md").read_text()
        lines = text.split("```sh\n")[1].split("```\n")[0]
        command = shlex.quote(str(Path(COMMAND).resolve()))
        lines = lines.replace("build/host/tandem", command).replace("-I include", f"-I {DOCS.parent / 'include'}")
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", lines], cwd=self.folder, capture_output=True, text=True,
                              timeout=280)
        self.assert_good(done)
        self.assertIn("ordered   yes", done.stdout)
        self.pte = self.folder / "squash.pte"
        x = [-2, -0.5, 0, 1, 4]
        self.assert_computes(x, [3 * (v + 1) / (1 + abs(v + 1)) for v in x], "--rtol", "1e-6")


class PackErrorTest(PackCase):
    def test_errors_have_line_column_and_key(self):
        path = self.write({**self.SCALED, "outputs": ["z"]})
        line = 1 + [text.strip() for text in path.read_text().split("\n")].index('"z"')
        done = tandem("pack", path, "-o", self.pte)
        self.assert_error(done, f"{path}:{line}:5: no value 'z'", "field methods[0].outputs[0]")
        error = self.json_of(tandem("pack", path, "-o", self.pte, "--json"), code=2)["error"]
        self.assertEqual(error["code"], "InvalidArgument")
        self.assertEqual(error["site"]["file"], str(path))
        self.assertEqual(error["site"]["field"], "methods[0].outputs[0]")

    def test_nothing_is_written_or_replaced(self):
        self.pte.write_text("old")
        before = sorted(self.folder.iterdir()) + [self.folder / "model.json"]
        self.assert_error(tandem("pack", self.write({**self.SCALED, "inputs": ["z"]}), "-o", self.pte), "no value 'z'")
        self.assertEqual(self.pte.read_text(), "old")
        self.assertEqual(sorted(self.folder.iterdir()), sorted(before))

    def test_missing_files(self):
        self.assert_error(tandem("pack", self.folder / "no.json", "-o", self.pte), "NotFound", self.folder / "no.json")
        method = {**self.SCALED, "delegates": {"scale": {"backend": "AotiHostBackend", "library": "no.so"}}}
        self.assert_error(tandem("pack", self.write(method), "-o", self.pte), "NotFound", "model.json:",
                          self.folder / "no.so", "field methods[0].delegates.scale.library")
        self.assert_error(tandem("pack", self.write(self.SCALED), "-o", self.folder / "no" / "model.pte"), "NotFound",
                          self.folder / "no" / "model.pte")

    def test_files_that_do_not_fit(self):
        self.floats("weight.npy", [1, 2, 3])
        self.assert_error(tandem("pack", self.write(self.COUNTER), "-o", self.pte), "'weight.npy' is another array",
                          "expected float32 4; found float32 3", "weights.layer.weight.constant.file")

    def test_data_file_that_nothing_needs(self):
        self.assert_error(tandem("pack", self.write(self.SCALED), "-o", self.pte, "--ptd", self.folder / "x.ptd"),
                          "--ptd, but no data of the manifest is external")

    def test_one_name_for_both_files(self):
        self.floats("weight.npy", [1, 2, 3, 4])
        ptd = self.folder / "model.ptd"
        self.assert_error(tandem("pack", self.write(self.COUNTER), "-o", ptd), "one name", ptd)

    def test_what_the_program_is_made_of_stays(self):
        path = self.write(self.SCALED)
        for file in (path, self.folder / "scaled.so"):
            before = file.read_bytes()
            self.assert_error(tandem("pack", path, "-o", file), "would replace it", file)
            self.assertEqual(file.read_bytes(), before)
        weight = self.floats("weight.npy", [1, 2, 3, 4])
        self.assert_error(tandem("pack", self.write(self.COUNTER), "-o", self.pte, "--ptd", weight), "would replace it",
                          weight)

    def test_what_an_operator_refuses(self):
        method = {**self.SCALED, "values": {**self.SCALED["values"], "one": tensor([1], dtype="uint16", constant=[1])}}
        self.assert_error(tandem("pack", self.write(method), "-o", self.pte), "model.json:",
                          "field methods[0].steps[0].args[1]")


class RunTest(CommandTest):
    def inputs_and_outputs(self, name, method="forward", case=0):
        meta = json.loads((FIXTURES / name / "meta.json").read_text())
        one = meta["methods"][method]["cases"][case]

        def text(value):
            if value["kind"] == "tensor":
                return str(FIXTURES / name / value["file"])
            if value["kind"] == "none":
                return "none"
            kind = {"double": "float"}.get(value["kind"], value["kind"])
            return f"{kind}:{json.dumps(value['value'])}"
        return ([arg for v in one["inputs"] for arg in ("--input", text(v))],
                [arg for v in one["outputs"] for arg in ("--expect", text(v))])

    def test_sizes_that_the_library_does_not_take(self):
        for shape in ("0x1x8x8", "2x1x8x7", "2x1x7x8", "2x0x8x8", "361x1x8x8"):
            done = tandem("run", *program("digits"), "--random", 1, "--shape", "0:" + shape)
            self.assert_error(done, "InvalidArgument", "input 0", shape.replace("x", ", "))
        for name, shape in (("digits", "1x1x8x8"), ("digits", "360x1x8x8"), ("dynamic", "1x1x16")):
            self.assert_good(tandem("run", *program(name), "--random", 1, "--shape", "0:" + shape))

    def test_replay_shares_buffers_as_it_is_told(self):
        folder = FIXTURES / "two_methods_host"
        self.assert_good(tandem("run", "--replay", folder))
        apart = tandem("run", "--replay", folder, "--share-buffers", "none")
        self.assertEqual(apart.returncode, 1, apart.stdout + apart.stderr)
        self.assertIn("FAIL   read[1]", apart.stdout)
        shutil.copytree(folder, self.folder / "undecided")
        meta = self.folder / "undecided" / "meta.json"
        content = json.loads(meta.read_text())
        del content["shared_buffers"]
        meta.write_text(json.dumps(content))
        undecided = tandem("run", "--replay", self.folder / "undecided")
        self.assertEqual(undecided.returncode, 2, undecided.stdout + undecided.stderr)
        self.assertIn("--share-buffers", undecided.stdout)
        self.assertEqual(undecided.stderr.count("warning"), 1, undecided.stderr)
        self.assert_good(tandem("run", "--replay", self.folder / "undecided", "--share-buffers", "m.memory"))
        for wrong, part in (("some", "all"), (7, "list"), ([7], "text")):
            content["shared_buffers"] = wrong
            meta.write_text(json.dumps(content))
            done = tandem("run", "--replay", self.folder / "undecided")
            self.assertEqual(done.returncode, 2)
            self.assertIn("shared_buffers", done.stdout)
            self.assertIn(part, done.stdout)
        self.assert_error(tandem("run", "--replay", folder, "--share-buffers", "a,,b"), "empty name")

    def test_matches(self):
        inputs, expected = self.inputs_and_outputs("mlp")
        done = tandem("run", *program("mlp"), *inputs, *expected)
        self.assert_good(done)
        self.assertIn("matched", done.stdout)

    def test_json(self):
        inputs, expected = self.inputs_and_outputs("scalars")
        report = self.json_of(tandem("run", *program("scalars"), *inputs, *expected, "--repeat", 5, "--json"))
        self.assertEqual(report["runs"], 5)
        self.assertEqual(report["distinct_results"], 1)
        self.assertIs(report["matched"], True)
        self.assertLessEqual(report["max_abs_error"], 1e-5)
        self.assertLessEqual(report["min_us"], report["p50_us"])
        self.assertLessEqual(report["p50_us"], report["p99_us"])
        self.assertLessEqual(report["p99_us"], report["max_us"])
        self.assertEqual([i["kind"] for i in report["inputs"]], ["tensor", "tensor", "int", "double", "none"])
        self.assertEqual(report["outputs"][0]["shape"], [4, 3])
        self.assertEqual(report["outputs"][1], {"kind": "int", "value": 4, "matched": True, "max_abs_error": 0.0,
                                                "mismatch": None})

    def test_nothing_to_compare_with(self):
        inputs, _ = self.inputs_and_outputs("add")
        report = self.json_of(tandem("run", *program("add"), *inputs, "--json"))
        self.assertIsNone(report["matched"])
        self.assertIsNone(report["max_abs_error"])

    def test_mismatch(self):
        inputs, _ = self.inputs_and_outputs("add")
        wrong = FIXTURES / "add" / "forward_1_out0.npy"
        done = tandem("run", *program("add"), *inputs, "--expect", wrong)
        self.assertEqual(done.returncode, 1)
        self.assertIn("MISMATCH", done.stdout)
        report = self.json_of(tandem("run", *program("add"), *inputs, "--expect", wrong, "--json"), code=1)
        self.assertIs(report["matched"], False)
        self.assertGreater(report["max_abs_error"], 0)
        self.assertIn("elements differ", report["outputs"][0]["mismatch"])

    def test_tolerance(self):
        inputs, _ = self.inputs_and_outputs("add")
        wrong = FIXTURES / "add" / "forward_1_out0.npy"
        self.assert_good(tandem("run", *program("add"), *inputs, "--expect", wrong, "--atol", 1e9))

    def test_any_output_may_stay_unchecked(self):
        inputs, _ = self.inputs_and_outputs("add")
        self.assert_good(tandem("run", *program("add"), *inputs, "--expect", "any"))

    def test_threads_share_the_runs(self):
        inputs, expected = self.inputs_and_outputs("split25")
        report = self.json_of(tandem("run", *program("split25"), *inputs, *expected, "--rtol", 1e-3, "--atol", 1e-3,
                                     "--repeat", 200, "--threads", 4, "--json"))
        self.assertEqual((report["runs"], report["threads"], report["distinct_results"]), (200, 4, 1))
        self.assertTrue(report["matched"])

    def test_states_give_distinct_results(self):
        report = self.json_of(tandem("run", *program("state_host"), "--input", FIXTURES / "state_host" /
                                     "forward_1_in0.npy", "--input", FIXTURES / "state_host" / "forward_1_in1.npy",
                                     "--repeat", 3, "--json"))
        self.assertEqual(report["runs"], 3)
        self.assertGreaterEqual(report["distinct_results"], 1)

    def test_method_is_chosen_when_there_is_one(self):
        report = self.json_of(tandem("run", *program("multi"), "--method", "code_size", "--json"))
        self.assertEqual(report["method"], "code_size")
        self.assertEqual(report["outputs"], [{"kind": "int", "value": 8}])
        self.assertEqual(self.json_of(tandem("run", *program("add"), "--random", 1, "--json"))["method"], "forward")

    def test_random_inputs_are_the_same_each_time(self):
        for run in ("a", "b"):
            self.assert_good(tandem("run", *program("mlp"), "--random", 7, "--output", self.folder / run))
        self.assert_good(tandem("run", *program("mlp"), "--random", 8, "--output", self.folder / "c"))
        first, second, other = ((self.folder / run / "out0.npy").read_bytes() for run in "abc")
        self.assertEqual(first, second)
        self.assertNotEqual(first, other)

    def test_random_takes_shape_or_bound(self):
        report = self.json_of(tandem("run", *program("digits"), "--random", 1, "--shape", "0:3x1x8x8", "--json"))
        self.assertEqual(report["inputs"][0]["shape"], [3, 1, 8, 8])
        self.assertEqual(report["outputs"][0]["shape"], [3, 10])
        report = self.json_of(tandem("run", *program("digits"), "--random", 1, "--json"))
        self.assertEqual(report["inputs"][0]["shape"], [360, 1, 8, 8])

    def test_random_keeps_the_numbers_that_the_exporter_fixed(self):
        report = self.json_of(tandem("run", *program("scalars"), "--random", 1, "--json"))
        self.assertEqual(report["inputs"][2], {"kind": "int", "value": 5})

    def test_output_writes_what_is_read_back(self):
        inputs, _ = self.inputs_and_outputs("dtypes")
        self.assert_good(tandem("run", *program("dtypes"), *inputs, "--output", self.folder / "new" / "folder"))
        for i in range(12):
            written, data = read_npy(self.folder / "new" / "folder" / f"out{i}.npy")
            expected, _ = read_npy(FIXTURES / "dtypes" / f"forward_0_out{i}.npy")
            self.assertEqual(written, expected)
            size = int(written["descr"][2:])
            self.assertEqual(len(data), math.prod(written["shape"]) * size)
        expected = [arg for i in range(12) for arg in ("--expect", self.folder / "new" / "folder" / f"out{i}.npy")]
        self.assert_good(tandem("run", *program("dtypes"), *inputs, *expected, "--rtol", 0, "--atol", 0))

    def test_fortran_order_input(self):
        header, data = read_npy(FIXTURES / "add" / "forward_0_in0.npy")
        rows, columns = header["shape"]
        values = [data[i * 4:i * 4 + 4] for i in range(rows * columns)]
        path = self.folder / "fortran.npy"
        write_npy(path, "<f4", (rows, columns),
                  b"".join(values[r * columns + c] for c in range(columns) for r in range(rows)))
        path.write_bytes(path.read_bytes().replace(b"False", b"True ", 1))
        self.assert_good(tandem("run", *program("add"), "--input", path, "--input",
                                FIXTURES / "add" / "forward_0_in1.npy", "--expect",
                                FIXTURES / "add" / "forward_0_out0.npy"))


class RunStreamsTest(CommandTest):
    """split25 is a chain of 25 delegates."""
    def split(self, *options, code=0):
        expected = FIXTURES / "split25" / "forward_0_out0.npy"
        return self.json_of(tandem("run", *program("split25"), "--input", FIXTURES / "split25" / "forward_0_in0.npy",
                                   "--expect", expected, "--rtol", "1e-3", "--atol", "1e-4", "--json", *options), code)

    def test_every_policy_and_seed_that_orders_gives_one_result(self):
        for options in ([], ["--streams", "per-method"], ["--schedule-seed", "5"], ["--threads", "3"],
                        ["--streams", "per-method", "--schedule-seed", "5"], ["--streams", "per-method", "--threads", "3"]):
            report = self.split("--repeat", "20", *options)
            self.assertEqual(report["distinct_results"], 1, options)
            self.assertTrue(report["matched"], options)
            self.assertEqual(report["streams"], "per-method" if "per-method" in options else "per-thread")
            self.assertEqual(report["schedule_seed"], 5 if "--schedule-seed" in options else None)

    def test_a_stream_per_delegate_is_refused(self):
        self.assert_error(tandem("run", *program("split25"), "--random", "1", "--streams", "per-delegate"),
                          "OrderViolation", "delegate 0", "delegate 1", "stream 1", "stream 2", "value 7")

    def test_a_stream_per_delegate_gives_many_results(self):
        unordered = ["--streams", "per-delegate", "--allow-races"]
        self.assertGreater(self.split("--repeat", "50", "--schedule-seed", "1", *unordered, code=1)["distinct_results"], 1)

    def test_replay_takes_the_same_options(self):
        done = tandem("run", "--replay", FIXTURES / "state", "--streams", "per-method", "--schedule-seed", "2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_errors(self):
        self.assert_error(tandem("run", *program("add"), "--random", "1", "--streams", "mine"), "mine", "per-thread")
        self.assert_error(tandem("run", *program("add"), "--random", "1", "--schedule-seed", "x"), "schedule-seed")
        self.assert_error(tandem("run", *program("add"), "--random", "1", "--schedule-seed", "1", "--threads", "2"),
                          "--schedule-seed", "--threads")


class RunErrorTest(CommandTest):
    def test_files_that_cannot_be_read(self):
        self.assert_error(tandem("run", "nowhere.pte"), "NotFound", "nowhere.pte")
        self.assert_error(tandem("run", self.folder), "AccessFailed", self.folder)
        self.assert_error(tandem("run", *program("mlp")[:1], "--data", "no.ptd", "--random", 1), "NotFound", "no.ptd")
        self.assert_error(tandem("run", *program("add"), "--input", "no.npy"), "NotFound", "no.npy", "argument 0")

    def test_missing_data_file_names_the_key_and_the_option(self):
        done = tandem("run", FIXTURES / "mlp" / "program.pte", "--random", 1)
        self.assert_error(done, "NotFound", "_weights_blob", "--data", FIXTURES / "mlp" / "aoti_cpu_blob.ptd")
        error = self.json_of(tandem("run", FIXTURES / "mlp" / "program.pte", "--random", 1, "--json"), code=2)["error"]
        self.assertTrue(error["site"]["key"].endswith("_weights_blob"))

    def test_unknown_method_lists_the_methods(self):
        self.assert_error(tandem("run", *program("multi"), "--method", "forwards"), "MethodNotFound", "encode",
                          "decode")
        self.assert_error(tandem("run", *program("multi")), "--method", "encode", "decode")

    def test_wrong_inputs_are_named(self):
        add = program("add")
        good = FIXTURES / "add" / "forward_0_in0.npy"
        self.assert_error(tandem("run", *add, "--input", good), "expected 2", "found 1")
        self.assert_error(tandem("run", *add, *["--input", good] * 3), "expected 2", "found 3")
        doubles = self.folder / "doubles.npy"
        write_npy(doubles, "<f8", read_npy(good)[0]["shape"], bytes(len(read_npy(good)[1]) * 2))
        self.assert_error(tandem("run", *add, "--input", doubles, "--input", good), "InvalidType", "argument 0",
                          "float32", "float64")
        flat = self.folder / "flat.npy"
        write_npy(flat, "<f4", (4,), bytes(16))
        self.assert_error(tandem("run", *add, "--input", flat, "--input", good), "InvalidArgument", "argument 0")
        self.assert_error(tandem("run", *add, "--input", "int:3", "--input", good), "InvalidType", "argument 0")
        self.assert_error(tandem("run", *add, "--input", "int:three", "--input", good), "int:three", "argument 0")
        self.assert_error(tandem("run", *program("digits"), "--random", 1, "--shape", "0:361x1x8x8"),
                          "InvalidArgument", "argument 0")

    def test_damaged_array_is_named(self):
        bad = self.folder / "bad.npy"
        bad.write_bytes((FIXTURES / "add" / "forward_0_in0.npy").read_bytes()[:-1])
        self.assert_error(tandem("run", *program("add"), "--input", bad), bad, "expected", "found")
        write_npy(bad, ">f4", (1,), bytes(4))
        self.assert_error(tandem("run", *program("add"), "--input", bad), bad, "big-endian")

    def test_wrong_options(self):
        add = program("add")
        self.assert_error(tandem("run", *add, "--random", 1, "--shape", "0:2,2"), "0:2x3x4")
        self.assert_error(tandem("run", *add, "--random", 1, "--shape", "9:2"), "--shape", "argument 9")
        self.assert_error(tandem("run", *add, "--random", 1, "--expect", "any", "--expect", "any"), "--expect",
                          "expected 1", "found 2")
        self.assert_error(tandem("run", *add, "--random", 1, "--device", "toaster"), "toaster")

    def test_output_folder_that_cannot_be_made(self):
        blocker = self.folder / "file"
        blocker.touch()
        self.assert_error(tandem("run", *program("add"), "--random", 1, "--output", blocker / "sub"), blocker)

    def test_full_stdout(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([COMMAND, "inspect", FIXTURES / "add" / "program.pte"], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("stdout cannot be written", done.stderr)


class BenchCase(CommandTest):
    MODES = ["eager", "again", "threads:4", "streams:4", "depth:4"]

    def bench(self, name, *options, code=0):
        return self.json_of(tandem("bench", "--case", FIXTURES / name, "--runs", 20, "--warmup", 3, "--json", *options),
                            code)

    def pack(self, method):
        manifest = self.folder / "model.json"
        manifest.write_text(json.dumps({"tandem_pack": 1, "methods": [method]}))
        self.assert_good(tandem("pack", manifest, "-o", self.folder / "model.pte"))
        return self.folder / "model.pte"

    def drifting(self):
        """A program whose every run gives another result, though it has no state."""
        shutil.copy(CUSTOM_LIBRARIES / "drifting.so", self.folder)
        return self.pack({"name": "forward", "values": {"x": tensor([4]), "y": tensor([4])},
                          "delegates": {"d": {"backend": "CustomBackend", "library": "drifting.so"}},
                          "inputs": ["x"], "outputs": ["y"], "steps": [{"delegate": "d", "args": ["x", "y"]}]})


class BenchTest(BenchCase):
    def test_recorded_programs(self):
        for name in ("mlp", "split25", "digits", "dtypes", "empty", "scalars", "cond_host"):
            with self.subTest(name):
                report = self.bench(name)
                self.assertEqual([m["mode"] for m in report["modes"]], self.MODES, report["left_out"])
                self.assertIs(report["expected"], True)
                self.assertIsNone(report["void"])
                self.assertIs(report["stateful"], False)
                self.assertRegex(report["fingerprint"], "^[0-9a-f]{16}$")
                for mode in report["modes"]:
                    times = mode["result_us"]
                    self.assertGreaterEqual(times["runs"], 20)
                    self.assertEqual(sorted(times[k] for k in ("min", "p50", "p90", "p99", "max")),
                                     [times[k] for k in ("min", "p50", "p90", "p99", "max")])
                    self.assertEqual(len(mode["blocks_us"]), 20)
                    self.assertGreater(mode["ratio"]["median"], 0)
                    self.assertIsNone(mode["gpu_us"])
                    self.assertIsNone(mode["driver"])
                self.assertEqual(report["modes"][0]["enqueue_us"]["runs"], 20)
                self.assertEqual(report["modes"][0]["ratio"]["median"], 1)

    def test_json_tells_what_was_measured(self):
        report = self.bench("split25", "--modes", "eager,again")
        self.assertEqual(report["tandem_bench"], 1)
        self.assertEqual(report["work"]["delegates"], 25)
        self.assertEqual(report["work"]["copies_to_device"], {"count": 0, "bytes": 0})
        self.assertEqual(report["inputs"], [{"kind": "tensor", "dtype": "float32", "shape": [64, 64]}])
        self.assertEqual(report["device"], "host")
        self.assertEqual(len(report["program_sha256"]), 64)
        self.assertEqual(Path(report["data"][0]["file"]).name, "aoti_cpu_blob.ptd")
        self.assertIn("bench --case", report["command"])
        self.assertTrue(report["machine"]["compiler"])
        self.assertGreater(report["resolution"], 0)

    def test_allocations_are_counted(self):
        report = self.json_of(tandem("bench", *program("plain"), "--random", 1, "--runs", 50, "--modes",
                                     "eager,depth:2", "--json"))
        eager, depth = report["modes"]
        if eager["allocations"] is None:
            self.skipTest("sanitizers count them for themselves")
        self.assertEqual(eager["allocations"], 0)
        self.assertGreaterEqual(depth["allocations"], 1)  # the handle of an execution

    def test_samples(self):
        mode = self.bench("mlp", "--modes", "eager", "--samples")["modes"][0]
        self.assertEqual(len(mode["samples"]["result_us"]), 20)
        self.assertEqual(max(mode["samples"]["result_us"]), mode["result_us"]["max"])

    def test_text(self):
        done = tandem("bench", "--case", FIXTURES / "digits", "--runs", 40)
        self.assert_good(done)
        self.assertRegex(done.stdout, r"digits/program\.pte forward on host: 40 runs of each mode\n")
        self.assertRegex(done.stdout, r"results +the same in every run, .* and is what is expected\n")
        for mode in self.MODES:
            self.assertRegex(done.stdout, rf"\n  {mode} +[0-9]")
        self.assertRegex(done.stdout, r"resolution: [0-9.]+ %")

    def test_graph_modes_on_the_host(self):
        done = tandem("bench", "--case", FIXTURES / "mlp", "--runs", 20, "--modes", "graph,auto")
        self.assert_good(done)
        self.assertIn("graph: step by step: the host has no graphs", done.stdout)
        self.assertIn("resolution: unknown", done.stdout)

    def test_inputs_as_for_run(self):
        report = self.json_of(tandem("bench", *program("digits"), "--random", 3, "--shape", "0:2x1x8x8", "--runs", 5,
                                     "--modes", "eager", "--json"))
        self.assertEqual(report["inputs"][0]["shape"], [2, 1, 8, 8])
        self.assertIsNone(report["expected"])
        report = self.bench("multi", "--method", "encode", "--modes", "eager")
        self.assertEqual(report["method"], "encode")

    def test_a_method_with_state(self):
        for name in ("state", "state_init", "state_host"):
            with self.subTest(name):
                report = self.bench(name, "--modes", "eager,again,graph")
                self.assertIsNone(report["void"])
                self.assertIs(report["expected"], True)
        method = {"name": "forward",
                  "values": {"x": tensor([2]), "y": tensor([2]), "sum": tensor([2], mutable=True, constant=[1, 2])},
                  "inputs": ["x"], "outputs": ["y"],
                  "steps": [{"op": "aten::add.out", "args": ["sum", "x", 1, "y"]},
                            {"op": "aten::copy_", "args": ["sum", "y", False]}]}
        del method["values"]["sum"]["constant"]
        counter = self.pack(method)
        report = self.json_of(tandem("bench", counter, "--random", 1, "--runs", 30, "--json"))
        self.assertIs(report["stateful"], True)
        self.assertIsNone(report["void"])
        self.assertEqual([m["mode"] for m in report["modes"]], ["eager", "again"])
        done = tandem("bench", counter, "--random", 1, "--modes", "eager,threads:2")
        self.assert_error(done, "NotSupported", "threads:2", "keeps state")

    def test_picture(self):
        svg = self.folder / "bench.svg"
        self.assert_good(tandem("bench", "--case", FIXTURES / "mlp", "--runs", 20, "--svg", svg))
        root = xml.etree.ElementTree.parse(svg).getroot()
        self.assertEqual([e.get("data-mode") for e in root.iter() if e.get("data-mode")], self.MODES)
        self.assertEqual([e.get("data-curve") for e in root.iter() if e.get("data-curve")], self.MODES)
        self.assertIn("Median times", root.find("{http://www.w3.org/2000/svg}desc").text)

    def test_compare(self):
        old = self.folder / "old.json"
        old.write_text(json.dumps(self.bench("mlp", "--modes", "eager,again,depth:2")))
        report = self.bench("mlp", "--modes", "eager,again", "--compare", old)
        self.assertEqual([m["mode"] for m in report["comparison"]["modes"]], ["eager", "again"])
        self.assertIs(report["comparison"]["same_results"], True)
        self.assertAlmostEqual(report["comparison"]["modes"][0]["ratio"],
                               report["modes"][0]["time_us"] / report["comparison"]["modes"][0]["old_us"])
        done = tandem("bench", "--case", FIXTURES / "mlp", "--runs", 20, "--modes", "eager,again", "--compare", old)
        self.assert_good(done)
        self.assertIn("against the old bench", done.stdout)
        self.assertRegex(done.stdout, r"resolution of both together: [0-9.]+ %")

    def test_a_wrong_result_voids_the_table(self):
        svg = self.folder / "bench.svg"
        done = tandem("bench", self.drifting(), "--random", 1, "--runs", 20, "--svg", svg)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"VOID +a wrong result: eager, run 1: fingerprint [0-9a-f]{16}, and run 0 of eager gave")
        self.assertNotIn("same", done.stdout)
        self.assertNotIn("resolution", done.stdout)
        self.assertIn("no picture of a table that is void", done.stderr)
        self.assertFalse(svg.exists())
        report = self.json_of(tandem("bench", self.drifting(), "--random", 1, "--json"), code=1)
        self.assertEqual((report["void"]["mode"], report["void"]["run"]), ("eager", 1))

    def test_a_result_that_is_not_expected_voids_the_table(self):
        folder = self.folder / "add"
        shutil.copytree(FIXTURES / "add", folder)
        shutil.copy(folder / "forward_1_out0.npy", folder / "forward_0_out0.npy")
        report = self.json_of(tandem("bench", "--case", folder, "--json"), code=1)
        self.assertIn("not what is expected, output 0", report["void"]["reason"])
        self.assertIs(report["expected"], False)


class BenchErrorTest(BenchCase):
    def test_modes(self):
        mlp = ["bench", "--case", FIXTURES / "mlp"]
        self.assert_error(tandem(*mlp, "--modes", "fast"), "no such mode", "eager", "fast")
        self.assert_error(tandem(*mlp, "--modes", "threads:0"), "threads:N")
        self.assert_error(tandem(*mlp, "--modes", "eager,eager"), "twice")
        self.assert_error(tandem(*mlp, "--modes", "raw"), "NotSupported", "raw", "CUDA")

    def test_files(self):
        self.assert_error(tandem("bench", "nowhere.pte", "--random", 1), "NotFound", "nowhere.pte")
        self.assert_error(tandem("bench", "--case", self.folder), "NotFound", "meta.json")
        self.assert_error(tandem("bench", FIXTURES / "mlp" / "program.pte", "--random", 1), "NotFound", "--data",
                          FIXTURES / "mlp" / "aoti_cpu_blob.ptd")
        self.assert_error(tandem("bench", *program("mlp")), "too few inputs", "--random")
        self.assert_error(tandem("bench", "--case", FIXTURES / "mlp", "--method", "backward"), "MethodNotFound")
        self.assert_error(tandem("bench", "--case", FIXTURES / "mlp", "--device", "toaster"), "toaster")

    def test_a_folder_without_a_case_of_the_method(self):
        folder = self.folder / "add"
        shutil.copytree(FIXTURES / "add", folder)
        meta = json.loads((folder / "meta.json").read_text())
        meta["methods"]["forward"]["cases"] = []
        (folder / "meta.json").write_text(json.dumps(meta))
        self.assert_error(tandem("bench", "--case", folder), "NotFound", "no case of this method", folder)

    def test_a_picture_that_cannot_be_written(self):
        done = tandem("bench", "--case", FIXTURES / "mlp", "--runs", 5, "--svg", self.folder / "no" / "x.svg")
        self.assertEqual(done.returncode, 2)
        self.assertIn("x.svg", done.stderr)

    def test_what_does_not_compare(self):
        old = self.folder / "old.json"
        old.write_text(json.dumps(self.bench("add", "--modes", "eager")))
        mlp = ["bench", "--case", FIXTURES / "mlp", "--runs", 5]
        self.assert_error(tandem(*mlp, "--compare", old), "InvalidArgument", "another program", old, "program_sha256")
        self.assert_error(tandem(*mlp, "--compare", self.folder / "no.json"), "NotFound", "no.json")
        old.write_text("{")
        self.assert_error(tandem(*mlp, "--compare", old), "no JSON", old)
        old.write_text("{}")
        self.assert_error(tandem(*mlp, "--compare", old), "no bench of this form", old)

    def test_other_inputs_do_not_compare(self):
        old = self.folder / "old.json"
        digits = ["bench", *program("digits"), "--random", 1, "--runs", 5, "--modes", "eager"]
        old.write_text(tandem(*digits, "--shape", "0:2x1x8x8", "--json").stdout)
        self.assert_error(tandem(*digits, "--shape", "0:3x1x8x8", "--compare", old), "other inputs")


class ReplayTest(CommandTest):
    def copy(self, name):
        folder = self.folder / name
        shutil.copytree(FIXTURES / name, folder)
        return folder

    def edit(self, folder, change):
        path = folder / "meta.json"
        meta = json.loads(path.read_text())
        change(meta)
        path.write_text(json.dumps(meta))

    def test_json_over_several_folders(self):
        report = self.json_of(tandem("run", "--replay", FIXTURES / "add", FIXTURES / "state", "--json"))
        self.assertEqual(report["verdict"], "PASS")
        self.assertEqual([Path(f["folder"]).name for f in report["folders"]], ["add", "state"])
        self.assertEqual(report["failed"], 0)
        refused = report["folders"][1]["cases"][-1]
        self.assertEqual(refused["case"], "forward.failures[0]")
        self.assertIn("refused: BackendFailed", refused["detail"])

    def test_text(self):
        done = tandem("run", "--replay", FIXTURES / "digits")
        self.assert_good(done)
        self.assertRegex(done.stdout, r"PASS +forward\[0\] +360 runs +max abs error \S+\n")
        self.assertRegex(done.stdout, r"replay: \d+ passed, 0 failed, \d+ runs\n$")

    def test_mismatch(self):
        folder = self.copy("add")
        shutil.copy(folder / "forward_1_out0.npy", folder / "forward_0_out0.npy")
        done = tandem("run", "--replay", folder)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"FAIL +forward\[0\].*output 0: \d+ of \d+ elements differ, first at")
        self.assertRegex(done.stdout, r"PASS +forward\[1\]")

    def test_order_and_state(self):
        folder = self.copy("state_host")
        self.assert_good(tandem("run", "--replay", folder))

        def swap(meta):
            meta["order"] = [["forward", 0], ["forward", 2], ["forward", 1]]
        self.edit(folder, swap)
        self.assertEqual(tandem("run", "--replay", folder).returncode, 1, "another order gives other states")

    def test_reload_starts_from_the_initial_state(self):
        folder = self.copy("state_host")

        def first_twice(reload):
            def change(meta):
                meta["methods"]["forward"]["cases"][0]["reload"] = reload
                meta["order"] = [["forward", 1], ["forward", 0]]
            return change
        self.edit(folder, first_twice(False))
        without = self.json_of(tandem("run", "--replay", folder, "--json"), code=1)
        self.assertEqual([c["verdict"] for c in without["folders"][0]["cases"]][-1], "FAIL")
        self.edit(folder, first_twice(True))
        with_reload = self.json_of(tandem("run", "--replay", folder, "--json"), code=1)
        self.assertEqual([c["verdict"] for c in with_reload["folders"][0]["cases"]][-1], "PASS")

    def test_bad_input_that_is_accepted(self):
        folder = self.copy("add")

        def add_failure(meta):
            forward = meta["methods"]["forward"]
            forward["failures"] = [{"inputs": forward["cases"][0]["inputs"], "reason": "nothing is wrong with it"}]
        self.edit(folder, add_failure)
        done = tandem("run", "--replay", folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("accepted, but must be refused: nothing is wrong with it", done.stdout)

    def test_execution_error_is_told_and_the_others_run(self):
        folder = self.copy("add")

        def drop_input(meta):
            meta["methods"]["forward"]["cases"][0]["inputs"].pop()
        self.edit(folder, drop_input)
        done = tandem("run", "--replay", folder)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stdout, r"ERROR +forward\[0\] .*InvalidArgument")
        self.assertRegex(done.stdout, r"PASS +forward\[1\]")

    def test_folders_that_cannot_be_loaded(self):
        done = tandem("run", "--replay", self.folder / "nowhere", FIXTURES / "add")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nowhere/meta.json", done.stdout)
        self.assertIn("PASS", done.stdout)
        folder = self.copy("mlp")
        self.edit(folder, lambda meta: meta["files"].update(ptd=[]))
        report = self.json_of(tandem("run", "--replay", folder, "--json"), code=2)
        self.assertTrue(report["folders"][0]["cases"][0]["error"]["site"]["key"].endswith("_weights_blob"))

    def test_malformed_meta_json_names_the_field(self):
        folder = self.copy("add")
        self.edit(folder, lambda meta: meta["methods"]["forward"]["cases"][0]["inputs"][0].update(dtype="float99"))
        report = self.json_of(tandem("run", "--replay", folder, "--json"), code=2)
        self.assertEqual(report["folders"][0]["error"]["site"]["field"], "methods.forward.cases[0].inputs[0].dtype")


class InterruptTest(CommandTest):
    def interrupted(self, *args):
        """Runs the command with --json and ends it with Ctrl-C once it would catch it."""
        process = subprocess.Popen([COMMAND, *map(str, args), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        # There is no event to wait for from outside: the signal is caught from the first instruction of the command on.
        deadline = time.monotonic() + 60
        while not self.catches_interrupts(process.pid):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        report = json.loads(out)
        self.assertTrue(report["interrupted"])
        return report

    def test_ctrl_c_prints_what_was_measured(self):
        report = self.interrupted("run", *program("add"), "--random", 1, "--repeat", 1000000000)
        self.assertLess(report["runs"], 1000000000)

    def test_ctrl_c_ends_a_bench(self):
        report = self.interrupted("bench", *program("add"), "--random", 1, "--runs", 10000000)
        self.assertIsNone(report["void"])
        for mode in report["modes"]:
            if mode["result_us"] is not None:
                self.assertLess(mode["result_us"]["runs"], 10000000)

    @staticmethod
    def catches_interrupts(pid):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1 == 1
        return False


if __name__ == "__main__":
    unittest.main()
