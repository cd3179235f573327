//! The reference of the format is what the table of keys says.

use quintet_model::{Ended, Model, ProblemKind, keys, markdown};
use std::path::Path;

#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(stored, markdown(), "docs/models.md is stale: run `cargo xtask docs`");
}

#[test]
fn the_model_in_the_reference_is_good() {
    let page = markdown();
    let model = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let model = Model::from_str(model, "docs/models.md").unwrap_or_else(|error| panic!("{error}"));
    assert!(model.run(1).expect("it is good").modules["serve"].activations > 6_000);
}

/// The model of the tests, with something between its tables.
fn model_with(key: &str, table: &str, device: &str) -> String {
    let place = |name: &str| if name == table { key } else { "" };
    format!(
        "[model]\n{}\n[processor.p]\n{}\n[device.d]\n{}\n[module.m]\n{}\n[measure.x]\n{}\n",
        place("model"),
        place("processor"),
        if table == "device" { format!("kind = \"{device}\"\n{key}") } else { String::new() },
        place("module"),
        place("measure"),
    )
}

#[test]
fn every_model_in_the_reference_runs() {
    let page = markdown();
    let written = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    // Others show a table or two.
    let models = written.filter(|text| text.starts_with("[model]"));
    let runs = models.map(|model| {
        let model = Model::from_str(model, "docs/models.md").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.warnings(), []);
        model.run(1).expect("it is good")
    });
    let runs: Vec<_> = runs.collect();
    // The one that gives up after three tries: one packet in 21 is given up, as (1 - 0.8^2)^3 says.
    let sent = runs[2].modules["send"].activations;
    let received = runs[2].quantities()["measure.acknowledged.count"];
    assert!((88.0..=100.0).contains(&received) && sent == 100, "{sent} sent, {received} acknowledged");
}

#[test]
fn every_key_of_the_reference_is_read() {
    let tables = [("model", &keys::MODEL), ("processor", &keys::PROCESSOR), ("module", &keys::MODULE)];
    let tables =
        tables.into_iter().chain([("measure", &keys::MEASURE)]).map(|(name, table)| (name, "", table));
    let devices = keys::DEVICES.into_iter().map(|(kind, table)| ("device", kind, table));
    for (name, kind, table) in tables.chain(devices) {
        for key in table.keys.iter().filter(|key| !["kind", "name"].contains(&key.name)) {
            // No key takes a list of a date.
            let text = model_with(&format!("{} = [2026-01-01]", key.name), name, kind);
            let wrong = model_with(&format!("{} = \"?\"", key.name), name, kind);
            for text in [text, wrong] {
                let error = Model::from_str(&text, "m.toml").expect_err("a wrong value");
                let part = format!(".{}", key.name);
                let found = error.problems.iter().find(|problem| problem.key.contains(&part));
                let found = found.unwrap_or_else(|| panic!("{} of {}: {error}", key.name, table.heading));
                assert!(
                    !matches!(found.kind, ProblemKind::UnknownKey { .. } | ProblemKind::Missing { .. }),
                    "{found}"
                );
            }
        }
    }
}

#[test]
fn every_kind_of_device_works_with_what_is_required_alone() {
    for (kind, table) in keys::DEVICES {
        let required = table.find("rate").map_or("", |_| "rate = \"10 Mb/s\"");
        let text = format!(
            "[model]\nname = \"{kind}\"\n[processor.a]\n[processor.b]\n\
             [device.d]\nkind = \"{kind}\"\nstations = [\"a\", \"b\"]\n{required}\n\
             [module.send]\non = \"a\"\nevery = \"10 ms\"\nlimit = 100\n\
             do = [{{ send = \"x\", to = \"get\", bytes = \"1 kB\", through = \"d\" }}]\n\
             [module.get]\non = \"b\"\nwaits_for = {{ x = 1 }}\n"
        );
        let model = Model::from_str(&text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
        let result = model.run(1).expect("it is good");
        assert_eq!(result.ended, Ended::NothingLeft, "{kind}");
        assert_eq!(result.modules["get"].activations, 100, "{kind}");
        if kind != "link" {
            assert_eq!((result.devices["d"].delivered, result.devices["d"].bytes), (100, 100_000), "{kind}");
        }
    }
}

#[test]
fn a_module_may_send_to_itself_through_a_device() {
    let text = "[model]\nname = \"self\"\n[processor.a]\n[device.d]\nkind = \"bus\"\nstations = [\"a\"]\nrate = \"8 kb/s\"\n\
                [module.begin]\non = \"a\"\nstart = \"0 s\"\ndo = [{ send = \"x\", to = \"again\" }]\n\
                [module.again]\non = \"a\"\nwaits_for = { x = 1 }\n\
                do = [{ send = \"x\", to = \"again\", bytes = \"1 kB\", through = \"d\" }]\n";
    let model = Model::from_str(text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let result = model.with("end", "10.5 s").run(1).expect("it is good");
    assert_eq!(result.modules["again"].activations, 11);
}
