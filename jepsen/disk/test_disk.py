"""The disk: a program that syncs loses nothing, one that does not does."""

import errno
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

from lab import control
from lab.disk import Disk, sync_directory
from testing import PROGRAMS

RECORD_BYTES = 4096
CRASHES = 100


def write(path, data, offset=0, flags=0):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
    os.pwrite(fd, data, offset)
    return fd


class Crashes(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.disk = Disk(PROGRAMS.lossfs, pathlib.Path(self.directory.name) / "disk")
        self.mount = self.disk.mount

    def tearDown(self):
        self.disk.close()
        self.directory.cleanup()

    # Programs of known durability

    def crash_writer(self, how, milliseconds, torn=None):
        """Runs it, kills it, takes the power. (the last number it acknowledged, what is there)."""
        writer = subprocess.Popen([str(PROGRAMS.disk_writer), how, str(self.mount)],
                                  stdout=subprocess.PIPE)
        time.sleep(milliseconds / 1000)
        writer.kill()
        said = writer.stdout.read().split()
        writer.stdout.close()
        writer.wait()
        if torn is None:
            self.disk.crash()
        else:
            self.disk.torn(torn)
        found = self.whole_record() if how.startswith("rename") else self.whole_records()
        for path in self.mount.iterdir():
            path.unlink()
        sync_directory(self.mount)
        return (int(said[-1]) if said else 0), found

    def whole_records(self):
        path = self.mount / "log"
        data = path.read_bytes() if path.exists() else b""
        number = 0
        while data[number * RECORD_BYTES:(number + 1) * RECORD_BYTES] == \
                struct.pack("<I", number + 1) * (RECORD_BYTES // 4):
            number += 1
        return number

    def whole_record(self):
        path = self.mount / "record"
        data = path.read_bytes() if path.exists() else b""
        number = struct.unpack("<I", data[:4])[0] if len(data) == RECORD_BYTES else 0
        self.assertEqual(data, struct.pack("<I", number) * (len(data) // 4), "a torn record")
        return number

    def test_who_syncs_loses_nothing(self):
        ways = ("fsync", "fdatasync", "dsync", "aio", "rename")
        for number in range(CRASHES):
            how = ways[number % len(ways)]
            torn = number if number % 2 else None
            with self.subTest(how=how, number=number):
                said, found = self.crash_writer(how, 15 + number % 20, torn)
                self.assertGreaterEqual(found, said)
        # and it was a test
        for how in ways:
            self.assertGreater(self.crash_writer(how, 100)[0], 5, how)

    def test_who_does_not_sync_loses(self):
        for how in ("none", "rename-careless"):
            said, found = self.crash_writer(how, 60)
            self.assertGreater(said, 5)
            self.assertLess(found, said, how)

    def test_a_torn_crash_keeps_a_part(self):
        kept = {self.crash_torn(seed) for seed in range(12)}
        self.assertGreater(len(kept), 6)

    def crash_torn(self, seed):
        """Which sectors of four pages, never synced, are there."""
        os.close(os.open(self.mount / "f", os.O_CREAT | os.O_WRONLY))
        sync_directory(self.mount)
        fd = write(self.mount / "f", b"\1" * 16384)
        os.close(fd)
        self.disk.torn(seed)
        data = (self.mount / "f").read_bytes()
        (self.mount / "f").unlink()
        self.assertTrue(all(len(set(data[at:at + 512])) <= 1 for at in range(0, len(data), 512)))
        return bytes(data[at] for at in range(0, len(data), 512))

    def test_the_power_is_cut_under_a_program(self):
        for how in ("fsync", "dsync", "aio", "rename"):
            for torn in (None, 1, 2, 3):
                with self.subTest(how=how, torn=torn):
                    said, found = self.cut_writer(how, torn)
                    self.assertGreater(said, 5)
                    self.assertGreaterEqual(found, said)

    def cut_writer(self, how, torn):
        writer = subprocess.Popen([str(PROGRAMS.disk_writer), how, str(self.mount)],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(0.04)
        self.disk.cut(torn)
        time.sleep(0.02)  # it acknowledges nothing any more: its next write fails
        writer.kill()
        said = writer.stdout.read().split()
        writer.stdout.close()
        writer.wait()
        self.disk.heal()
        found = self.whole_record() if how == "rename" else self.whole_records()
        for path in self.mount.iterdir():
            path.unlink()
        sync_directory(self.mount)
        return int(said[-1]), found

    # Single rules

    def test_an_overwrite_comes_back(self):
        os.close(self.synced("f", b"a" * 10000))
        fd = write(self.mount / "f", b"b" * 5000, 2500)
        os.ftruncate(fd, 9000)
        os.close(fd)
        self.disk.crash()
        self.assertEqual((self.mount / "f").read_bytes(), b"a" * 10000)

    def synced(self, name, data):
        fd = write(self.mount / name, data)
        os.fsync(fd)
        sync_directory(self.mount)
        return fd

    def test_a_durable_write_keeps_its_page_and_its_length_alone(self):
        os.close(self.synced("f", b""))
        fd = os.open(self.mount / "f", os.O_RDWR)
        os.posix_fallocate(fd, 0, 1 << 20)
        os.pwrite(fd, b"x" * 4096, 8192)  # not durable
        os.close(write(self.mount / "f", b"y" * 4096, 4096, os.O_DSYNC))
        os.close(fd)
        self.disk.crash()
        self.assertEqual((self.mount / "f").read_bytes(), bytes(4096) + b"y" * 4096)

    def test_a_name_needs_its_directory(self):
        fd = write(self.mount / "f", b"data")
        os.fsync(fd)
        os.close(fd)
        self.disk.crash()
        self.assertEqual(os.listdir(self.mount), [])

    def test_removed_and_renamed_files_come_back(self):
        os.close(self.synced("gone", b"1"))
        os.close(self.synced("old", b"2"))
        os.close(self.synced("target", b"3"))
        os.unlink(self.mount / "gone")
        os.rename(self.mount / "old", self.mount / "target")
        self.disk.crash()
        self.assertEqual({path.name: path.read_bytes() for path in self.mount.iterdir()},
                         {"gone": b"1", "old": b"2", "target": b"3"})

    def test_directories(self):
        (self.mount / "kept").mkdir()
        sync_directory(self.mount)
        (self.mount / "lost").mkdir()
        os.close(self.synced_in("lost"))
        os.close(self.synced_in("kept"))
        shutil.rmtree(self.mount / "kept")
        self.disk.crash()
        self.assertEqual(os.listdir(self.mount), ["kept"])
        self.assertEqual((self.mount / "kept/f").read_bytes(), b"data")
        self.disk.remove("kept")
        self.disk.crash()
        self.assertEqual(os.listdir(self.mount), [])
        self.assertEqual(os.listdir(self.disk.store / "trash"), [])

    def synced_in(self, folder):
        fd = write(self.mount / folder / "f", b"data")
        os.fsync(fd)
        sync_directory(self.mount / folder)
        return fd

    def test_an_open_file_that_was_removed_can_be_used(self):
        os.close(self.synced("f", b"data"))
        fd = os.open(self.mount / "f", os.O_RDWR)
        os.unlink(self.mount / "f")
        sync_directory(self.mount)
        os.pwrite(fd, b"more", 0)
        self.assertEqual(os.pread(fd, 10, 0), b"more")
        os.close(fd)
        self.disk.crash()
        self.assertEqual(os.listdir(self.mount), [])

    # Faults

    def assert_fails(self, code, action, *arguments):
        with self.assertRaises(OSError) as caught:
            action(*arguments)
        self.assertEqual(caught.exception.errno, code)

    def test_errors_once_and_always(self):
        fd = self.synced("f", b"a")
        self.disk.fail("write", 1)
        self.assert_fails(errno.EIO, os.pwrite, fd, b"b", 0)
        os.pwrite(fd, b"b", 0)
        self.disk.fail("sync")
        for _ in range(3):
            self.assert_fails(errno.EIO, os.fsync, fd)
        self.disk.heal()
        os.fsync(fd)
        self.disk.fail("read", 1)
        self.assert_fails(errno.EIO, (self.mount / "f").read_bytes)
        self.disk.fail("name", 1)
        self.assert_fails(errno.EIO, os.rename, self.mount / "f", self.mount / "g")
        os.close(fd)

    def test_a_failed_sync_makes_nothing_durable(self):
        fd = self.synced("f", b"a")
        os.pwrite(fd, b"b", 0)
        self.disk.fail("sync", 1)
        self.assert_fails(errno.EIO, os.fsync, fd)
        os.close(fd)
        self.disk.crash()
        self.assertEqual((self.mount / "f").read_bytes(), b"a")

    def test_space(self):
        fd = self.synced("f", b"a" * 4096)
        self.disk.limit_space(8192)
        self.assertEqual(os.statvfs(self.mount).f_bavail * os.statvfs(self.mount).f_frsize, 8192)
        os.pwrite(fd, b"b" * 8192, 4096)
        self.assert_fails(errno.ENOSPC, os.pwrite, fd, b"c", 12288)
        self.assert_fails(errno.ENOSPC, os.posix_fallocate, fd, 0, 20000)
        self.assert_fails(errno.ENOSPC, os.mkdir, self.mount / "d")
        os.pwrite(fd, b"c" * 4096, 0)
        self.disk.limit_space(0, hard=True)
        self.assert_fails(errno.ENOSPC, os.pwrite, fd, b"c", 0)
        self.disk.heal()
        os.pwrite(fd, b"c", 12288)
        os.close(fd)

    def test_a_slow_disk(self):
        fd = self.synced("f", b"a")
        self.disk.delay(50_000)
        began_s = time.monotonic()
        os.pwrite(fd, b"b", 0)
        os.fsync(fd)
        self.assertGreater(time.monotonic() - began_s, 0.099)
        os.close(fd)

    def test_a_disk_that_lies(self):
        self.disk.lose_syncs()
        said, found = self.crash_writer("dsync", 100)
        self.assertGreater(said, 5)
        self.assertEqual(found, 0)
        self.assertGreater(self.disk.counters()["lost_syncs"], 5)

    def test_what_is_removed_is_kept(self):
        os.close(self.synced("f", b"a"))
        (self.mount / "f").unlink()
        self.assertEqual(list(self.disk.kept.iterdir()), [])
        self.disk.keep()
        for text in (b"b", b"c"):
            os.close(self.synced("f", text))
            (self.mount / "f").unlink()
            sync_directory(self.mount)
        kept = sorted(self.disk.kept.iterdir())
        self.assertEqual([path.name.split(".")[1] for path in kept], ["f", "f"])
        self.assertEqual([path.read_bytes() for path in kept], [b"b", b"c"])

    def test_wrong_commands(self):
        for line in ("", "crush", "fail", "fail write", "fail walk 1", "fail write x", "torn",
                     "space -1", "space 1 soft", "delay x", "lose 2", "keep",
                     "keep 2"):
            with self.subTest(line=line), self.assertRaises(control.Refused):
                control.ask(self.disk.socket, line)


if __name__ == "__main__":
    unittest.main()
