#!/usr/bin/env python3
"""What `cmake --install` puts where, without LibTorch's 500 MB: programs that run by their links, pages,
completions, the entry of menus, the type of recordings.

  install_test.py CMAKE BUILD DESKTOP     DESKTOP: ON where the window was built
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CMAKE, BUILD, DESKTOP = "cmake", ".", False
TREE = pathlib.Path(__file__).resolve().parents[2]


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.folder.name)
        for component in ["shardscope", *(["shardscope-desktop"] if DESKTOP else [])]:
            subprocess.run([CMAKE, "--install", BUILD, "--prefix", cls.prefix, "--component", component],
                           check=True, capture_output=True, timeout=60)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def lines_of(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def test_programs_run_by_their_links(self):
        program = self.prefix / "bin" / "shardscope"
        self.assertTrue(program.is_symlink())
        self.assertFalse(os.readlink(program).startswith("/"), "it can be moved as a whole")
        self.assertTrue(self.lines_of(program, "--version")[0].startswith("shardscope "))
        if DESKTOP:
            self.lines_of(self.prefix / "bin" / "shardscope-desktop", "--version")

    def test_each_verb_has_a_page(self):
        pages = {page.name for page in (self.prefix / "share/man/man1").iterdir()}
        for verb in ("record", "report", "analyze", "compare", "import", "export", "doctor"):
            self.assertIn(f"shardscope-{verb}.1", pages)
        self.assertNotIn("shardscope-rank.1", pages, "it comes with the rank")
        self.assertEqual("shardscope-desktop.1" in pages, DESKTOP)

    def test_completions_lie_where_shells_look(self):
        for file in ("bash-completion/completions/shardscope", "zsh/vendor-completions/_shardscope",
                     "fish/vendor_completions.d/shardscope.fish"):
            self.assertGreater((self.prefix / "share" / file).stat().st_size, 1000)

    def test_hosts_are_given_what_fetches_libtorch(self):
        share = self.prefix / "libexec/shardscope/share"
        self.assertTrue(os.access(share / "fetch-libtorch", os.X_OK))
        self.assertTrue((share / "dependencies.env").is_file())

    def test_the_type_of_recordings_is_that_of_the_format(self):
        if not DESKTOP:
            self.skipTest("the window was not built")
        root = xml.etree.ElementTree.parse(
            self.prefix / "share/mime/packages/org.shardscope.shardscope.xml").getroot()
        space = "{http://www.freedesktop.org/standards/shared-mime-info}"
        kind = root.find(f"{space}mime-type")
        identity = kind.find(f"{space}magic/{space}match/{space}match").get("value")
        self.assertIn(f"`{identity}`", (TREE / "storage/schema/FORMAT.md").read_text())
        entry = (self.prefix / "share/applications/org.shardscope.shardscope.desktop").read_text()
        self.assertIn(f"MimeType={kind.get('type')};", entry)
        self.assertTrue((self.prefix / "share/icons/hicolor/scalable/mimetypes" /
                         (kind.get("type").replace("/", "-") + ".svg")).is_file())

    def test_validators_have_nothing_to_say(self):
        if not DESKTOP:
            self.skipTest("the window was not built")
        share = self.prefix / "share"
        tried = 0
        if shutil.which("desktop-file-validate"):
            self.lines_of("desktop-file-validate", share / "applications/org.shardscope.shardscope.desktop")
            tried += 1
        if shutil.which("appstreamcli"):
            done = subprocess.run(["appstreamcli", "validate", "--no-net",
                                   share / "metainfo/org.shardscope.shardscope.metainfo.xml"],
                                  capture_output=True, text=True)
            # There is no page to name; since 1.0 it is asked for.
            wrong = [line for line in done.stdout.splitlines()
                     if line.startswith(("E:", "W:")) and "url-homepage-missing" not in line]
            self.assertEqual(wrong, [], done.stdout + done.stderr)
            self.assertIn(done.returncode, (0, 3), done.stdout + done.stderr)
            tried += 1
        if tried == 0:
            self.skipTest("neither desktop-file-validate nor appstreamcli is installed")


if __name__ == "__main__":
    CMAKE, BUILD, DESKTOP = sys.argv[1], sys.argv[2], sys.argv[3] == "ON"
    unittest.main(argv=sys.argv[:1])
