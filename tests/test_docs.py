"""The generated documents are those of the code, and the check can fail."""

from pathlib import Path

from docs.build import DOCUMENTS, FOLDER, stale


def test_the_documents_say_what_the_code_says() -> None:
    assert stale(FOLDER) == []


def test_a_missing_or_changed_document_is_found(tmp_path: Path) -> None:
    for name, write in DOCUMENTS.items():
        (tmp_path / name).write_text(write())
    (tmp_path / "commands.md").write_text("old")
    (tmp_path / "firehose.md").unlink()
    assert stale(tmp_path) == ["commands.md", "firehose.md"]
