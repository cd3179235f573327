//! What goes along to other machines.

use super::lab::Machines;
use super::{at, numbers};
use crate::tool::{result, text};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// What worker 0 on b says of the files that came along.
fn shown(lab: &Machines, script: &OsStr) -> String {
    let shows =
        "[ \"$1\" = -m ] || exec sleep 1000; cat -- *.py pack/*.py; ls; echo idle $$; exec sleep 1000";
    let python = at(lab, "python", shows);
    let words = ["run", "--hosts", "b", "-n", "1", "--python", text(&python)];
    let job = lab.program("a", &words).arg(script).in_folder("/").spawn().expect("it starts");
    numbers(&job, "idle ", 1);
    job.output().text()
}

#[test]
fn modules_and_packages_beside_a_script_go_along_as_they_are_now() {
    let lab = Machines::up(&["a", "b"]);
    let folder = lab.room.join("a folder");
    fs::create_dir_all(folder.join("pack")).unwrap();
    for (name, content) in
        [("beside.py", "BESIDE = 1\n"), ("pack/__init__.py", "PACK = 1\n"), ("data.txt", "")]
    {
        fs::write(folder.join(name), content).unwrap();
    }
    for name in [&b"a job.py"[..], b"j\xff b.py"] {
        let script: OsString = folder.join(OsStr::from_bytes(name)).into();
        fs::write(&script, "SCRIPT = 1\n").unwrap();
        fs::write(folder.join("beside.py"), "BESIDE = 1\n").unwrap();
        let said = shown(&lab, &script);
        for line in ["SCRIPT = 1", "BESIDE = 1", "PACK = 1", &String::from_utf8_lossy(name)] {
            assert!(said.contains(&format!("[worker 0 on b] {line}")), "{line}: {said}");
        }
        assert!(!said.contains("data.txt"), "{said}");
        // What has changed is sent anew.
        fs::write(folder.join("beside.py"), "BESIDE = 2\n").unwrap();
        let said = shown(&lab, &script);
        assert!(said.contains("BESIDE = 2") && !said.contains("BESIDE = 1"), "{said}");
    }
    fs::File::create(folder.join("large.py")).unwrap().set_len(64 << 20).unwrap();
    let script = folder.join("a job.py");
    let words = ["run", "--hosts", "b", "-n", "1", text(&script)];
    let (code, said) = result(lab.command("a", &words));
    assert!(
        said.contains("more than 64 MiB") && said.contains("move what the job does not need"),
        "{code}: {said}"
    );
}

#[test]
fn a_program_that_is_its_own_worker_goes_along() {
    let lab = Machines::up(&["a", "b", "c"]);
    let this = std::env::current_exe().unwrap();
    let part = ["own_workers::part_of_a_job", "--exact", "--nocapture", "--quiet"];
    let words = [&["run", "--hosts", "b,c", "-n", "3", text(&this)][..], &part].concat();
    let (code, said) = result(lab.command("a", &words));
    assert!(code == 0 && said.contains("3 workers have done 20 tasks and ended"), "{said}");
}

#[test]
fn files_and_folders_that_are_named_go_along_and_what_goes_is_said() {
    let lab = Machines::up(&["a", "b"]);
    let folder = lab.room.join("work");
    fs::create_dir_all(folder.join("data/deep")).unwrap();
    for name in ["job.py", "notes.txt", "data/a.csv", "data/deep/b.csv"] {
        fs::write(folder.join(name), format!("{name}\n")).unwrap();
    }
    fs::write(lab.room.join("outside.txt"), "outside.txt\n").unwrap();
    let shows = "[ \"$1\" = -m ] || exec sleep 1000; find . -type f | sort; cat data/deep/b.csv; echo idle $$; exec sleep 1000";
    let python = at(&lab, "python", shows);
    let words =
        ["run", "--hosts", "b", "-n", "1", "--file", "./data", "--file", "../outside.txt", "--python"];
    let job = lab.program("a", &words).arg(text(&python)).arg("job.py").in_folder(&folder).spawn().unwrap();
    numbers(&job, "idle ", 1);
    let said = job.output().text();
    let found: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("[worker 0 on b] ./")).collect();
    assert_eq!(found, ["data/a.csv", "data/deep/b.csv", "job.py", "outside.txt"], "{said}");
    assert!(said.contains("[worker 0 on b] data/deep/b.csv\n"), "{said}");
    assert!(
        said.contains("quintet: sent along to b: job.py, data/a.csv, data/deep/b.csv and 1 more (46 bytes)"),
        "{said}"
    );
    let words = ["run", "--hosts", "b", "--file", "none.csv", "job.py"];
    let (code, said) = result(lab.program("a", &words).in_folder(&folder).spawn().unwrap());
    assert!(code == 65 && said.contains("none.csv, which workers on other machines need"), "{code}: {said}");
}
