//! The files that `simulate run` writes.

use super::{model, simulate};
use crate::tool::{result, text};
use quintet_testbed::{Program, TempDir};
use std::fs;

/// What is in a folder, by name.
fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The elements of an XML text by name and attributes; every one that is opened is closed.
fn elements(xml: &str) -> Vec<String> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for part in xml.split('<').skip(1) {
        let (tag, rest) = part.split_once('>').expect("a tag ends");
        assert!(
            !rest.contains('>')
                && !rest.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").contains('&')
        );
        let name = |tag: &str| tag.split([' ', '/']).next().unwrap_or_default().to_owned();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop().as_deref(), Some(closed)),
            None => {
                assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
                found.push(tag.to_owned());
                if !tag.ends_with('/') {
                    open.push(name(tag));
                }
            }
        }
    }
    assert!(open.is_empty(), "{open:?} is not closed");
    found
}

#[test]
fn a_sweep_is_a_table_of_values_and_a_picture() {
    let folder = TempDir::new().unwrap();
    let (model, csv, svg) = (model(&folder), folder.join("sweep.csv"), folder.join("sweep.svg"));
    let (status, said) = simulate(&[
        text(&model),
        "--seeds",
        "2",
        "--sweep",
        "job_ms=1,2,4",
        "--sweep",
        "bytes=500,1000",
        "--csv",
        text(&csv),
        "--plot",
        text(&svg),
        "--quantity",
        "processor.cpu.utilisation",
    ]);
    assert_eq!(status, 0, "{said}");
    assert!(
        said.contains("bytes = 500") && said.contains("bytes = 1000") && said.contains("job_ms"),
        "{said}"
    );
    let table = fs::read_to_string(&csv).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("job_ms,bytes,quantity,unit,mean,half_width,confidence,runs"));
    let cpu: Vec<&str> = lines.filter(|line| line.contains("processor.cpu.utilisation")).collect();
    // Ten jobs in 99 ms.
    let expected = [
        "1,500,processor.cpu.utilisation,share,0.10101010101010101,0,0.95,2",
        "1,1000,processor.cpu.utilisation,share,0.10101010101010101,0,0.95,2",
        "2,500,processor.cpu.utilisation,share,0.20202020202020202,0,0.95,2",
    ];
    assert_eq!((cpu.len(), &cpu[..3]), (6, &expected[..]));
    let drawn = fs::read_to_string(&svg).unwrap();
    let elements = elements(&drawn);
    let of = |what: &str| elements.iter().filter(|tag| tag.contains(what)).count();
    assert_eq!((of("class=\"point\""), of("class=\"error\""), of("polyline ")), (6, 6, 2));
    // The model's name is one that XML would take for something else.
    assert!(drawn.contains("jobs &amp; &lt;messages&gt;"), "{drawn}");
    assert_eq!(names(&folder), ["model.toml", "sweep.csv", "sweep.svg"]);
}

#[test]
fn what_cannot_be_written_is_told_after_the_results() {
    let folder = TempDir::new().unwrap();
    let model = model(&folder);
    // Not even root can make a file there.
    for (option, path) in [("--csv", "/proc/no.csv"), ("--trace", "/proc/no.pftrace"), ("--csv", "/dev/full")]
    {
        let (status, said) = simulate(&[text(&model), "--seeds", "2", option, path]);
        assert_eq!(status, 71, "{said}");
        assert!(said.contains("utilisation"), "{said}");
        assert!(said.contains(&format!("{path} cannot be written")), "{said}");
    }
}

#[test]
fn a_file_that_fails_keeps_no_other_from_being_written() {
    let folder = TempDir::new().unwrap();
    let (model, csv) = (model(&folder), folder.join("new.csv"));
    let arguments = [text(&model), "--seeds", "1", "--sweep", "job_ms=1,2", "--csv", text(&csv)];
    let (status, said) = simulate(&[&arguments[..], &["--plot", "/proc/no.svg"]].concat());
    assert_eq!(status, 71, "{said}");
    assert_eq!(names(&folder), ["model.toml", "new.csv"], "{said}");
}

#[test]
fn quantities_are_chosen_by_name_and_by_pattern() {
    let folder = TempDir::new().unwrap();
    let (model, csv) = (model(&folder), folder.join("some.csv"));
    let chosen = |pattern: &str| {
        let (status, said) =
            simulate(&[text(&model), "--seeds", "2", "--quantity", pattern, "--csv", text(&csv)]);
        assert_eq!(status, 0, "{said}");
        let table = fs::read_to_string(&csv).unwrap();
        let lines = table.lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned());
        (lines.collect::<Vec<_>>(), said)
    };
    let (lines, said) = chosen("cpu.util*");
    assert_eq!(lines, ["processor.cpu.utilisation"]);
    assert!(said.contains("utilisation") && !said.contains("activations"), "{said}");
    assert_eq!(chosen("processor.cpu.lost").0, ["processor.cpu.lost"]);
    let (lines, _) = chosen("*.utilisation");
    assert!(lines.len() > 1 && lines.iter().all(|line| line.ends_with(".utilisation")), "{lines:?}");
}

#[test]
fn a_quantity_that_nothing_has_leaves_the_file_before() {
    let folder = TempDir::new().unwrap();
    let (model, csv) = (model(&folder), folder.join("old.csv"));
    fs::write(&csv, "before").unwrap();
    for wrong in ["processor.cpus.utilisation", "cpus.*", "cpu.colour"] {
        let (status, said) =
            simulate(&[text(&model), "--seeds", "1", "--quantity", wrong, "--csv", text(&csv)]);
        assert_eq!(status, 65, "{said}");
        assert!(said.contains(&format!("the model has no quantity {wrong}")), "{said}");
        assert_eq!(fs::read_to_string(&csv).unwrap(), "before");
    }
}

#[test]
fn a_file_that_the_system_cuts_off_is_an_error_like_others() {
    let folder = TempDir::new().unwrap();
    let (model, path) = (model(&folder), folder.join("long.pftrace"));
    // As `ulimit -f` has it: a few kilobytes a file.
    let line = format!(
        "ulimit -f 8; exec {} simulate run {} --seeds 1 --end '20 s' --trace {}",
        env!("CARGO_BIN_EXE_quintet"),
        text(&model),
        text(&path)
    );
    let (status, said) = result(Program::new("sh").arg("-c").arg(line).spawn().unwrap());
    assert_eq!(status, 71, "{said}");
    assert!(said.contains("utilisation") && said.contains("long.pftrace cannot be written"), "{said}");
    assert_eq!(names(&folder), ["model.toml"]);
}
