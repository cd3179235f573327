//! `reproduce`: an object a cell, a page, and the same numbers each time.

use crate::tool::{quintet, result, text};
use quintet_testbed::TempDir;
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn each_cell_is_an_object_and_each_run_the_same() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    let study = ["reproduce", "thomas-1991", "--simulated", "--seeds", "1", "--json", "--html", text(&page)];
    let (status, said) = result(quintet(study));
    assert_eq!(status, 0, "{said}");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (sum, cells) = objects.split_last().unwrap();
    assert_eq!(sum["cells"], cells.len());
    assert!(cells.iter().all(|cell| cell["published"].is_number() && cell["role"].is_string()));
    assert!(std::fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    assert_eq!(result(quintet(study)), (0, said));
}

#[test]
fn a_fit_anew_is_an_object_and_its_spread_stands_in_the_sum() {
    let study = ["reproduce", "thomas-1991", "--simulated", "--seeds", "1", "--starts", "1", "--json"];
    let (status, said) = result(quintet(study));
    assert_eq!(status, 0, "{said}");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (sum, others) = objects.split_last().unwrap();
    let start = &others[others.len() - 1];
    assert_eq!(
        (&start["start"], &start["fitted"]["of"], &start["predicted"]["of"]),
        (&0.into(), &75.into(), &181.into())
    );
    assert!(start["sum"].as_f64() > Some(0.0) && start["values"]["expansion"].is_f64(), "{start}");
    let within = |role: &str| start[role]["within"].clone();
    let expected = serde_json::json!({
        "count": 1,
        "fitted": [within("fitted"), within("fitted")],
        "predicted": [within("predicted"), within("predicted")],
        "least": 0,
    });
    assert_eq!(sum["starts"], expected);
    assert_eq!(result(quintet(["reproduce", "thomas-1991", "--what-if", "--starts", "1"])).0, 64);
}

#[test]
fn what_if_answers_one_question_as_objects_and_as_a_page() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    let file = text(&page);
    let asked =
        ["reproduce", "thomas-1991", "--what-if", "--question=driver", "--seeds=1", "--json", "--html", file];
    let (status, said) = result(quintet(asked));
    assert_eq!(status, 0, "{said}");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (sum, rows) = objects.split_last().unwrap();
    assert_eq!(sum["rows"], rows.len());
    assert!(!sum["findings"].as_array().unwrap().is_empty());
    assert!(rows.iter().all(|row| row["question"] == "driver" && row["bound"].is_string()));
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("color-scheme"));
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert!(page.contains("<svg") && !page.contains("NaN") && !page.contains(">inf"));
}

#[test]
fn a_question_is_one_of_those_of_what_if() {
    let (status, said) = result(quintet(["reproduce", "thomas-1991", "--what-if", "--question", "other"]));
    assert_eq!(status, 64, "{said}");
    assert!(["clients", "heads", "driver", "today"].iter().all(|question| said.contains(question)), "{said}");
    let of_tables = ["reproduce", "thomas-1991", "--simulated", "--question", "today"];
    assert_eq!(result(quintet(of_tables)).0, 64);
}

#[test]
fn help_has_examples_of_both_ways() {
    let (status, said) = result(quintet(["reproduce", "--help"]));
    assert_eq!(status, 0, "{said}");
    for example in ["--simulated --json", "--what-if --question today", "--what-if --seeds 5 --html"] {
        assert!(said.contains(&format!("quintet reproduce thomas-1991 {example}")), "{said}");
    }
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let nowhere =
        ["reproduce", "thomas-1991", "--simulated", "--seeds", "1", "--html", "/nonexistent/page.html"];
    let (status, said) = result(quintet(nowhere));
    assert_ne!(status, 0);
    assert!(said.contains("/nonexistent/page.html"), "{said}");
}

#[test]
fn one_of_the_two_ways_must_be_chosen() {
    let (status, said) = result(quintet(["reproduce", "thomas-1991"]));
    assert_eq!(status, 64, "{said}");
    assert!(said.contains("--what-if") && said.contains("--simulated"), "{said}");
    assert_eq!(result(quintet(["reproduce", "thomas-1991", "--simulated", "--what-if"])).0, 64);
}

#[test]
fn linda_lan_runs_here_and_tells_each_run_and_figure() {
    let folder = TempDir::new().unwrap();
    let (page, table) = (folder.path().join("page.html"), folder.path().join("runs.csv"));
    let asked = [
        "reproduce",
        "linda-lan",
        "--live",
        "--quick",
        "--machines=1",
        "--json",
        "--html",
        text(&page),
        "--csv",
        text(&table),
    ];
    let (status, said) = result(quintet(asked));
    assert_eq!(status, 0, "{said}");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (sum, others) = objects.split_last().unwrap();
    let runs: Vec<&Value> = others.iter().filter(|object| object["run"].is_string()).collect();
    // Two dimensions, two more numbers of workers and the blocks, in two turns, with two packets and with one.
    assert_eq!((runs.len(), &sum["runs"]), (5 * 2 * 2, &20.into()));
    for run in &runs {
        let (dimension, workers) = (run["dimension"].as_u64(), run["workers"].as_u64());
        let operations = dimension
            .zip(workers)
            .map_or(400, |(dimension, workers)| 5 * dimension * dimension + 2 * workers);
        assert_eq!(run["operations"], operations, "{run}");
        assert!(
            run["seconds"].as_f64() > Some(0.0) && run["usage"]["processor_ns"].as_u64() > Some(0),
            "{run}"
        );
    }
    let packets: Vec<u64> = runs.iter().map(|run| run["packets"].as_u64().unwrap()).collect();
    assert!(packets.chunks(2).all(|pair| pair == [2, 1]), "interleaved: {packets:?}");
    let figures: Vec<&str> = others.iter().filter_map(|object| object["figure"].as_str()).collect();
    assert_eq!(figures, ["5.1", "5.3", "5.5"]);
    let page = std::fs::read_to_string(&page).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
    assert!(!page.contains("NaN") && !page.contains("href=\"http"), "{page}");
    assert_eq!(std::fs::read_to_string(&table).unwrap().lines().count(), 1 + runs.len());
}

#[test]
fn linda_lan_runs_on_two_machines_of_a_testbed() {
    let objects = |kernels: &[&str]| -> Vec<Value> {
        let asked = ["reproduce", "linda-lan", "--live", "--quick", "--machines=2", "--json"];
        let (status, said) = result(quintet([&asked[..], kernels].concat()));
        assert_eq!(status, 0, "{said}");
        let all: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let on_two = |object: &&Value| object["machines"] == 2;
        all.iter().filter(on_two).cloned().collect()
    };
    let packets = objects(&[]);
    let figures: Vec<&str> = packets.iter().filter_map(|object| object["figure"].as_str()).collect();
    assert_eq!(figures, ["5.2", "5.4", "5.6"]);
    assert_eq!(packets.iter().filter(|object| object["run"].is_string()).count(), 20);
    let ways: Vec<Value> = objects(&["--kernels"])
        .iter()
        .filter(|run| run["run"] == "kernels")
        .map(|run| run["way"].clone())
        .collect();
    assert_eq!(ways, ["direct", "kernels", "kernels"].repeat(4));
}

#[test]
fn linda_lan_compares_kernels_with_direct_connections_here() {
    let asked =
        ["reproduce", "linda-lan", "--live", "--kernels", "--quick", "--machines=1", "--one-processor"];
    let (status, said) = result(quintet([&asked[..], &["--json"]].concat()));
    assert_eq!(status, 0, "{said}");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let runs: Vec<&Value> = objects.iter().filter(|object| object["run"] == "kernels").collect();
    // With one process and with three, in two turns.
    let ways: Vec<&str> = runs.iter().map(|run| run["way"].as_str().unwrap()).collect();
    assert_eq!(ways, ["direct", "kernels", "kernels"].repeat(4));
    let packets: Vec<u64> = runs.iter().filter_map(|run| run["packets"].as_u64()).collect();
    assert_eq!(packets, [1, 1, 2].repeat(4));
    for run in runs {
        let processes = run["processes"].as_u64().unwrap();
        assert_eq!(run["operations"], 5 * 25 + 2 * processes, "{run}");
        assert!(run["manager"]["processor_ns"].as_u64() > Some(0), "{run}");
    }
    assert_eq!(objects.last().unwrap()["one_processor"], true);
    let rows: Vec<&Value> = objects.iter().filter(|object| object["time"].is_array()).collect();
    assert_eq!((rows.len(), rows[1]["processes"].as_u64()), (2, Some(3)));
    assert!(rows.iter().all(|row| row["one_packet"][1].as_f64() > Some(0.0)), "{rows:?}");
    assert!(objects.last().unwrap()["findings"][0].as_str().is_some_and(|text| text.contains("kernels")));
}

#[test]
fn linda_lan_is_simulated_the_same_each_time() {
    let study = ["reproduce", "linda-lan", "--simulated", "--seeds=1", "--json"];
    let (status, said) = result(quintet(study));
    assert_eq!(status, 0, "{said}");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let cells: Vec<&Value> = objects.iter().filter(|object| object["published"].is_number()).collect();
    assert_eq!(cells.len(), 9);
    assert!(objects.iter().any(|object| object["origin"] == "fitted" && object["because"].is_string()));
    let rows = objects.iter().filter(|object| object["kernels_s"].is_number()).count();
    assert_eq!(rows, 2 * 2 * 7, "machines, costs of a connection, numbers of processes");
    assert_eq!(result(quintet(study)), (0, said));
}

#[test]
fn isochrons_are_simulated_on_the_machines_of_the_prototype() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    let asked = ["reproduce", "isotach-1.0", "--simulated", "--quick", "--json", "--html", text(&page)];
    let (status, said) = result(quintet(asked));
    assert_eq!(status, 0, "{said}");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |name: &str| objects.iter().filter(|object| !object[name].is_null()).count();
    let (sum, _) = objects.split_last().unwrap();
    assert_eq!(sum["cells"], count("published"));
    assert!(sum["findings"].as_array().unwrap().len() > 5 && !sum["unsaid"].as_array().unwrap().is_empty());
    let figures: std::collections::BTreeSet<&str> =
        objects.iter().filter_map(|object| object["figure"].as_str()).collect();
    assert!(
        ["5.3", "5.4", "5.7", "5.8", "5.9", "5.10", "5.11", "5.12", "5.13", "A"]
            .iter()
            .all(|figure| figures.contains(figure))
    );
    let drawn = std::fs::read_to_string(&page).unwrap();
    assert_eq!(drawn.matches("<svg").count(), figures.len());
    assert_eq!(result(quintet(asked)), (0, said));
}

#[test]
fn isochrons_are_measured_here_beside_what_is_printed_of_the_prototype() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    let asked =
        ["reproduce", "isotach-1.0", "--live", "--quick", "--runs=1", "--json", "--html", text(&page)];
    let (status, said) = result(quintet(asked));
    assert_eq!(status, 0, "{said}");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (sum, others) = objects.split_last().unwrap();
    let (costs, others): (Vec<&Value>, Vec<&Value>) =
        others.iter().partition(|object| object["cost"].is_string());
    let (runs, compared): (Vec<&Value>, Vec<&Value>) =
        others.iter().partition(|object| object["run"].is_string());
    let counted = [&runs, &compared, &costs].map(Vec::len);
    assert_eq!(["runs", "compared", "costs"].map(|what| sum[what].as_u64().unwrap() as usize), counted);
    assert!(costs.len() == 18 && costs.iter().all(|cost| cost["median"].as_f64() > Some(0.0)), "{said}");
    assert_eq!(costs.iter().filter(|cost| cost["published"].is_number()).count(), 6, "{said}");
    assert!(runs.iter().all(|run| run["value"].as_f64() > Some(0.0) && run["turn"] == 0));
    let sent: BTreeSet<&str> = runs.iter().filter_map(|run| run["sent"].as_str()).collect();
    assert_eq!(sent.len(), 8, "{sent:?}");
    let value = |run: &str, link: &str, way: &str| {
        let is_it = |object: &&&Value| {
            (&object["run"], &object["link"], &object["way"]) == (&run.into(), &link.into(), &way.into())
                && (&object["packet_bytes"], &object["messages"]) == (&64.into(), &1.into())
        };
        runs.iter().find(is_it).and_then(|object| object["value"].as_f64()).unwrap()
    };
    for (run, link) in [
        ("round trip", "tcp"),
        ("stream", "tcp"),
        ("send", "shm"),
        ("4 senders", "shm"),
        ("round trip beside 4 senders", "shm"),
    ] {
        assert!(value(run, link, "plain messages") > 0.0 && value(run, link, "isochrons, safe") > 0.0);
    }
    // With one turn its ratio is that of its values, whatever the machine does meanwhile.
    let ratio = compared.iter().find(|one| one["published"] == 3.5).unwrap()["median"].as_f64().unwrap();
    let of = |way| value("round trip", "shm", way);
    assert!((ratio * of("plain messages") / of("isochrons, safe") - 1.0).abs() < 1e-9, "{ratio}");
    assert!(compared.iter().all(|one| one["because"].as_str().is_some_and(|why| !why.is_empty())));
    assert_eq!(std::fs::read_to_string(&page).unwrap().matches("<svg").count(), 9);
    let (status, said) = result(quintet(["reproduce", "isotach-1.0", "--live", "--machines", "1"]));
    assert!(status == 65 && said.contains("all its members are on this machine"), "{said}");
}

#[test]
fn a_way_that_a_study_does_not_have_is_refused() {
    for (study, way, words) in [
        ("thomas-1991", "--live", "--simulated or --what-if"),
        ("linda-lan", "--what-if", "--live and --simulated"),
        ("isotach-1.0", "--what-if", "isotach-1.0 has --live and --simulated"),
    ] {
        let (status, said) = result(quintet(["reproduce", study, way]));
        assert_eq!(status, 65, "{said}");
        assert!(said.contains(words), "{said}");
    }
    let (status, said) = result(quintet(["reproduce", "linda-lan", "--simulated", "--quick"]));
    assert!(status == 65 && said.contains("no shorter form"), "{said}");
    assert_eq!(result(quintet(["reproduce", "thomas-1991", "--what-if", "--quick"])).0, 64);
    assert_eq!(result(quintet(["reproduce", "linda-lan", "--live", "--machines", "3"])).0, 64);
}
