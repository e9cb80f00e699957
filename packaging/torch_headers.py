"""Gets torch/include out of a PyPI wheel of PyTorch without downloading the wheel.

  python3 torch_headers.py VERSION FOLDER

A wheel of 900 MB holds 60 MB of headers: a zip file is read from its end, so ranges of it do. The
index is pip's (PIP_INDEX_URL, pip config, else PyPI's). The wheel's sha256 cannot be checked
without all of it; what is unpacked is checked by the CRC that the zip file holds of each member.
FOLDER gets include/ and a file abi, which holds 0 or 1: _GLIBCXX_USE_CXX11_ABI of the wheel.
Standard library only.
"""
import html.parser
import http.client
import json
import os
import platform
import re
import shutil
import ssl
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

BLOCK = 1 << 20
BLOCKS_KEPT = 64


def configured(name):
    """What pip has for `name`, from its environment variables or files; None where nothing."""
    from_environment = os.environ.get("PIP_" + name.upper().replace("-", "_"))
    if from_environment:
        return from_environment
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], text=True,
                            capture_output=True, check=False).stdout
    found = re.search(rf"^(?:global|install|download)\.{name}='(.*)'$", listed, re.M)
    return found.group(1) if found else None


def context():
    return ssl.create_default_context(cafile=configured("cert") or os.environ.get("REQUESTS_CA_BUNDLE"))


class Links(html.parser.HTMLParser):
    def __init__(self, base):
        super().__init__()
        self.base, self.urls = base, []

    def handle_starttag(self, tag, attributes):
        target = dict(attributes).get("href")
        if tag == "a" and target:
            self.urls.append(urllib.parse.urljoin(self.base, target))


def links(index):
    """Addresses of all files of the project, from the index as JSON or, of older mirrors, HTML."""
    address = index.rstrip("/") + "/torch/"
    accept = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
    request = urllib.request.Request(address, headers={"Accept": accept})
    with urllib.request.urlopen(request, context=context(), timeout=60) as answer:
        body, base = answer.read().decode(), answer.url
        if "json" in answer.headers.get_content_type():
            return [urllib.parse.urljoin(base, each["url"]) for each in json.loads(body)["files"]]
    parser = Links(base)
    parser.feed(body)
    return parser.urls


def wheel(version):
    """Address of a wheel of `version` for this kind of machine; of any Python: headers are alike."""
    index = configured("index-url") or "https://pypi.org/simple"
    name = re.compile(rf"torch-{re.escape(version)}-cp3\d+-cp3\d+-(?:many)?linux\w*_{platform.machine()}\.whl")
    for url in links(index):
        if name.fullmatch(urllib.parse.unquote(urllib.parse.urlsplit(url).path.rsplit("/", 1)[-1])):
            return url.split("#")[0]
    raise SystemExit(f"{index} has no wheel of torch {version} for {platform.machine()}")


class Ranged:
    """A file on a web server, read in blocks that are kept; enough of a file for zipfile."""

    def __init__(self, url):
        self.parts = urllib.parse.urlsplit(url)
        self.connection = None
        self.blocks = {}
        self.position = self.fetched = 0
        self.size = int(self.request(0, 0).headers["Content-Range"].rsplit("/", 1)[1])

    def request(self, first, last):
        target = urllib.parse.urlunsplit(("", "", self.parts.path, self.parts.query, ""))
        for attempt in range(4):
            try:
                if self.connection is None:
                    made = (http.client.HTTPSConnection(self.parts.netloc, context=context(), timeout=60)
                            if self.parts.scheme == "https"
                            else http.client.HTTPConnection(self.parts.netloc, timeout=60))
                    self.connection = made
                self.connection.request("GET", target, headers={"Range": f"bytes={first}-{last}"})
                answer = self.connection.getresponse()
                if answer.status != 206:
                    raise SystemExit(f"{self.parts.netloc} answers {answer.status} {answer.reason} to a "
                                     "request for a part of a file; use a mirror that knows ranges")
                self.content = answer.read()
                return answer
            except (OSError, http.client.HTTPException):
                self.connection = None
                if attempt == 3:
                    raise

    def block(self, number):
        if number not in self.blocks:
            while len(self.blocks) >= BLOCKS_KEPT:
                del self.blocks[next(iter(self.blocks))]
            self.request(number * BLOCK, min(self.size, (number + 1) * BLOCK) - 1)
            self.blocks[number] = self.content
            self.fetched += len(self.content)
        return self.blocks[number]

    def read(self, count=-1):
        end = self.size if count < 0 else min(self.size, self.position + count)
        pieces = []
        while self.position < end:
            number, offset = divmod(self.position, BLOCK)
            piece = self.block(number)[offset:offset + end - self.position]
            pieces.append(piece)
            self.position += len(piece)
        return b"".join(pieces)

    def seek(self, offset, whence=os.SEEK_SET):
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: self.size}[whence]
        self.position = start + offset
        return self.position

    def tell(self):
        return self.position

    @staticmethod
    def seekable():
        return True


def string_abi(archive):
    """0 or 1. From 2.8 on wheels do not say any more, and have the new one as compilers do."""
    text = archive.read("torch/share/cmake/Torch/TorchConfig.cmake").decode()
    found = re.search(r"_GLIBCXX_USE_CXX11_ABI=([01])", text)
    return found.group(1) if found else "1"


def main():
    version, folder = sys.argv[1], Path(sys.argv[2])
    file = Ranged(wheel(version))
    archive = zipfile.ZipFile(file)
    work = folder.with_name(folder.name + ".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    wanted = [each for each in archive.infolist()
              if each.filename.startswith("torch/include/") and not each.is_dir()]
    # In the order of the file, so that every block is asked for once.
    for each in sorted(wanted, key=lambda member: member.header_offset):
        target = work / each.filename.removeprefix("torch/")
        if work.resolve() not in target.resolve().parents:
            raise SystemExit(f"the wheel of torch {version} holds {each.filename}, outside of its folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(archive.read(each))
    (work / "abi").write_text(string_abi(archive) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    work.rename(folder)
    print(f"torch {version}: {len(wanted)} headers, {file.fetched >> 20} of {file.size >> 20} MB fetched, "
          f"string ABI {(folder / 'abi').read_text().strip()}")


if __name__ == "__main__":
    main()
