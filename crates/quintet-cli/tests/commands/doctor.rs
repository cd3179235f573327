//! `doctor` in a folder of somebody else's.

use crate::tool::{result, script, text};
use quintet_testbed::{Program, TempDir};
use std::fs;

/// A folder in which whatever might be taken for Python, or be imported by it, leaves a trace.
fn trapped() -> TempDir {
    let folder = TempDir::new().unwrap();
    let trace = folder.join("trace");
    fs::create_dir_all(folder.join(".venv/bin")).unwrap();
    for name in [".venv/bin/python", "python3"] {
        script(&folder, name, &format!("echo {name} >> {}", text(&trace)));
    }
    for module in ["platform", "site", "sitecustomize", "usercustomize", "importlib", "os"] {
        let line = format!("open({:?}, 'a').write('{module} ')\n", text(&trace));
        fs::write(folder.join(format!("{module}.py")), line).unwrap();
    }
    folder
}

#[test]
fn nothing_of_the_working_folder_is_run() {
    let path = std::env::var("PATH").unwrap();
    for (variable, value) in [("PATH", format!(".::{path}")), ("PYTHONPATH", ":.".to_owned())] {
        let folder = trapped();
        let doctor = Program::new(env!("CARGO_BIN_EXE_quintet")).arg("doctor").env(variable, value);
        let doctor = doctor.without("VIRTUAL_ENV").in_folder(folder.path());
        let (code, said) = result(doctor.spawn().unwrap());
        let trace = fs::read_to_string(folder.join("trace")).unwrap_or_default();
        assert_eq!((code, trace.as_str()), (0, ""), "{said}");
        assert!(said.contains("./.venv/bin/python was not looked at"), "{said}");
    }
}

#[test]
fn what_is_named_is_looked_at() {
    let folder = trapped();
    let doctor = Program::new(env!("CARGO_BIN_EXE_quintet")).arg("doctor").arg("--python").arg("./python3");
    assert_eq!(result(doctor.in_folder(folder.path()).spawn().unwrap()).0, 0);
    assert_eq!(fs::read_to_string(folder.join("trace")).unwrap(), "python3\n");
}
