#!/usr/bin/env python3
"""Plants violations in a small tree and expects check_layering to find exactly those."""
import sys
import tempfile
import unittest
from pathlib import Path

import check_layering


class LayeringTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("include/tandem/error.h", "#pragma once\n#include <string>\n")
        self.write("include/tandem/module.h", "#pragma once\n#include <tandem/error.h>\n")
        self.write("src/base/log.h", "#include <tandem/error.h>\n#include <fmt/core.h>\n#include <unistd.h>\n")
        self.write("src/device/device.h", '#include "base/log.h"\n')
        self.write("src/runtime/op.h", "#include <span>\n")
        self.write("src/runtime/lower/place.h", '#include "device/device.h"\n')
        self.write("src/backends/aoti/aoti_backend.h", '#include "base/log.h"\n')

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def found(self):
        return [(v.file, v.line) for v in check_layering.check(self.root)]

    def assert_refused(self, path, include):
        self.write(path, f"// first line\n  #  include {include}\n")
        self.assertEqual(self.found(), [(path, 2)])

    def assert_accepted(self, path, include):
        self.write(path, f"#include {include}\n")
        self.assertEqual(self.found(), [])

    def test_accepts_the_tree_without_violations(self):
        self.assertEqual(self.found(), [])

    def test_refuses_runtime_from_base(self):
        self.assert_refused("src/base/bad.cpp", '"runtime/op.h"')

    def test_refuses_a_backend_from_runtime(self):
        self.assert_refused("src/runtime/bad.cpp", '"backends/aoti/aoti_backend.h"')

    def test_refuses_runtime_from_a_backend(self):
        self.assert_refused("src/backends/aoti/bad.cpp", '"runtime/op.h"')

    def test_refuses_a_path_relative_to_the_file(self):
        self.assert_refused("src/base/bad.cpp", '"../runtime/op.h"')

    def test_refuses_a_generated_header_of_another_layer(self):
        self.assert_refused("src/device/bad.cpp", '"format/pte/schema_generated.h"')

    def test_operators_see_only_the_operator_interface(self):
        self.assert_accepted("src/ops/portable/add.cpp", '"runtime/op.h"')
        self.assert_refused("src/ops/portable/bad.cpp", '"runtime/lower/place.h"')

    def test_runtime_sees_device_interfaces_only(self):
        self.write("src/device/host/host_device.h", '#include "device/device.h"\n')
        self.assert_refused("src/runtime/bad.cpp", '"device/host/host_device.h"')

    def test_device_folders_do_not_see_each_other(self):
        self.write("src/device/host/host_device.h", '#include "device/device.h"\n')
        self.write("src/device/gpu/stream.h", '#include "device/device.h"\n')
        self.assert_accepted("src/device/cuda/stream.cpp", '"device/gpu/stream.h"')
        self.assert_refused("src/device/cuda/bad.cpp", '"device/host/host_device.h"')

    def test_only_registration_names_backends(self):
        self.assert_accepted("src/facade/builtin_backends.cpp", '"backends/aoti/aoti_backend.h"')
        self.assert_refused("src/facade/module.cpp", '"backends/aoti/aoti_backend.h"')

    def test_the_command_sees_no_backend(self):
        self.assert_accepted("cli/run.cpp", '"runtime/op.h"')
        self.assert_refused("cli/bad.cpp", '"backends/aoti/aoti_backend.h"')

    def test_examples_see_public_headers_only(self):
        self.assert_accepted("examples/one/one.cpp", "<tandem/module.h>")
        self.assert_refused("examples/one/bad.cpp", '"base/log.h"')

    def test_layers_below_the_facade_do_not_see_module(self):
        self.assert_accepted("src/facade/module.cpp", "<tandem/module.h>")
        self.assert_refused("src/runtime/bad.cpp", "<tandem/module.h>")

    def test_public_headers_see_no_private_header(self):
        self.assert_refused("include/tandem/bad.h", '"base/log.h"')

    def test_public_headers_see_the_standard_library_only(self):
        for header in ("<fmt/core.h>", "<cuda_runtime.h>", "<unistd.h>"):
            with self.subTest(header):
                self.assert_refused("include/tandem/bad.h", header)

    def test_public_headers_may_be_c(self):
        self.assert_accepted("include/tandem/plain.h", "<stdint.h>")

    def test_an_sdk_stays_in_its_folder(self):
        self.assert_accepted("src/device/cuda/cuda_api.h", "<cuda_runtime.h>")
        self.assert_refused("src/runtime/bad.cpp", "<cuda_runtime.h>")

    def test_refuses_a_folder_without_a_rule(self):
        self.assert_refused("src/new/part.cpp", "<span>")

    def test_refuses_paths_of_one_machine(self):
        for path in ("/" + "work/main/x", "/" + "root/.cache/", "/" + "home/someone/x"):
            with self.subTest(path):
                self.write("docs/page.md", f"fine\nsee {path}\n")
                self.assertEqual(self.found(), [("docs/page.md", 2)])

    def test_ignores_what_is_not_text_and_what_is_built(self):
        (self.root / "tests/fixtures").mkdir(parents=True)
        (self.root / "tests/fixtures/program.pte").write_bytes(b"\xff\xfe/" + b"work/main/")
        self.write("build/host/log.txt", "/" + "work/main/")
        self.assertEqual(self.found(), [])

    def test_usage_error_has_its_own_status(self):
        self.assertEqual(check_layering.main([]), 2)


if __name__ == "__main__":
    sys.exit(unittest.main())
