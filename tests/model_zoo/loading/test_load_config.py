"""Each kind of files gives its configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from model_zoo import tiny
from model_zoo.loading.files import resolve
from model_zoo.loading.load_config import load_config
from tests.helpers.gguf_files import small_llama, write_model


def test_each_kind_of_files_is_read(tmp_path: Path) -> None:
    assert load_config(resolve("tiny")) == tiny.CONFIG
    gguf = load_config(resolve(str(write_model(tmp_path / "a.gguf", small_llama(), "llama"))))
    (tmp_path / "config.json").write_text(json.dumps(small_llama().values))
    folder = load_config(resolve(str(tmp_path)))
    assert folder == small_llama().config()
    assert (gguf.num_layers, gguf.rope) == (folder.num_layers, folder.rope)


def test_a_folder_is_read_without_torch(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(small_llama().values))
    script = (
        "import sys\n"
        "from model_zoo.loading.files import resolve\n"
        "from model_zoo.loading.load_config import load_config\n"
        "print(load_config(resolve(sys.argv[1])).num_layers)\n"
        "print(sorted({'torch', 'tokenizers', 'safetensors', 'gguf'} & set(sys.modules)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines() == ["2", "[]"]
