//! The study's open questions: what must hold whatever the answers are.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_reproduce::thomas_1991::what_if::{
    Bound, ELEMENTS, Experiment, Factor, Finding, Plan, Question, Row, Span, WhatIf, answer, measure,
};
use quintet_reproduce::thomas_1991::{Application, Case, Inferred, Lan, Model, Setting, Transport, simulate};
use serde_json::Value;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const fn case(model: Model, application: Application) -> Case {
    Case { lan: Lan::Ethernet, server_mips: 16, model, transport: Transport::Tcp, application }
}

const ONE_WORD: Application = Application::Realtime { words: 1 };
const LARGE: Application = Application::Realtime { words: 65_024 };
const JOB: Application = Application::Batch { elements: 100, vector_processor: true };

fn row(case: Case, setting: Setting, seeds: u64) -> Row {
    let mut experiment = Experiment::new(case, setting);
    if case.application == LARGE {
        experiment.span = Span { warm_up: 20.0, window: 60.0 };
    }
    measure(Question::Clients, &experiment, seeds)
}

#[test]
fn one_client_is_the_reproduction() {
    for application in [ONE_WORD, LARGE, JOB] {
        for model in [Model::Rexec, Model::Rpc] {
            let case = case(model, application);
            let ours = measure(Question::Clients, &Experiment::as_published(case), 1);
            let published = simulate(&case, &Inferred::FITTED, 0);
            assert!((ours.seconds.unwrap().mean / published.seconds - 1.0).abs() < 1e-9, "{case}");
            assert!((ours.utilisation("lan").unwrap() - published.lan).abs() < 1e-9, "{case}");
            let longer = row(case, Setting::STUDY, 1).seconds.unwrap().mean;
            assert!((longer / published.seconds - 1.0).abs() < 0.05, "{case}: {longer}");
        }
    }
}

#[test]
fn no_element_does_more_work_than_there_is_time() {
    for application in [ONE_WORD, JOB] {
        for model in [Model::Rexec, Model::Rpc, Model::Driver] {
            let case = case(model, application);
            let alone = row(case, Setting::STUDY, 1);
            let many = row(case, Setting { clients: 8, ..Setting::STUDY }, 1);
            let gain = many.mean() / alone.mean();
            for element in ["server applic", "server xport", "vector processor", "server bus"] {
                // What one client needs of it, times the throughput; two percent for what the ends cut off.
                let bound = gain * alone.utilisation(element).unwrap();
                assert!(bound <= 102.0, "{case}, {element}: {bound}%");
            }
            assert!(many.utilisations.iter().all(|share| *share <= 100.0 + 1e-9), "{case}");
            assert_eq!(many.lost, 0, "{case}");
        }
    }
}

#[test]
fn more_clients_or_heads_never_lower_the_throughput() {
    for model in [Model::Rexec, Model::Rpc] {
        let mut last = 0.0;
        for (clients, heads) in [(1, 1), (4, 1), (4, 2), (4, 4)] {
            let row = row(case(model, JOB), Setting { clients, heads, ..Setting::STUDY }, 1);
            assert!(row.mean() >= 0.98 * last, "{model:?} {clients} {heads}");
            last = row.mean();
        }
    }
}

#[test]
fn a_head_more_relieves_what_is_saturated() {
    let of = |heads| row(case(Model::Rexec, JOB), Setting { clients: 4, heads, ..Setting::STUDY }, 1);
    let (one, four) = (of(1), of(4));
    assert_eq!(one.bottleneck().0, "vector processor");
    assert!(four.mean() > 3.0 * one.mean());
}

#[test]
fn rpc_overtakes_rexec_where_the_server_is_the_bottleneck() {
    let of = |model, clients| row(case(model, ONE_WORD), Setting { clients, ..Setting::STUDY }, 2);
    assert!(of(Model::Rpc, 1).mean() < of(Model::Rexec, 1).mean());
    let (rexec, rpc) = (of(Model::Rexec, 8), of(Model::Rpc, 8));
    assert_eq!((rexec.bottleneck().0, rpc.bottleneck().0), ("server applic", "server applic"));
    assert!(rpc.runs.iter().zip(&rexec.runs).all(|(rpc, rexec)| rpc > rexec));
}

/// One-word reads over Ethernet and TCP by several clients, with both factors, for a tenth of the time; a batch job with
/// several heads.
static SMALL: LazyLock<WhatIf> = LazyLock::new(|| {
    let chosen = |experiment: &Experiment| {
        let Case { lan, transport, application, .. } = experiment.case;
        (lan, transport, application) == (Lan::Ethernet, Transport::Tcp, ONE_WORD)
            || application == JOB && experiment.setting.heads > 1
    };
    let questions = &[Question::Clients, Question::Heads];
    answer(&Plan { questions, seeds: 2, share: 0.1, chosen: &chosen }, &|_| ())
});

fn rows<'a>(finding: &'a Finding, model: &'a str) -> Vec<&'a Row> {
    let of = move |row: &&Row| {
        row.question == finding.question
            && row.experiment.label() == finding.case
            && row.experiment.factor == finding.factor
            && row.experiment.model() == model
    };
    SMALL.rows.iter().filter(of).collect()
}

#[test]
fn a_crossover_is_a_number_that_the_rows_show() {
    let findings = SMALL.findings.iter().filter(|finding| finding.question == Question::Clients);
    let findings: Vec<&Finding> = findings.collect();
    assert_eq!(findings.len(), 2);
    for finding in findings {
        let (rexec, rpc) = (rows(finding, "rexec"), rows(finding, "rpc"));
        assert_eq!(rexec.len(), rpc.len());
        assert!(rpc.is_sorted_by_key(|row| row.clients()));
        let from = finding.from.expect("RPC overtakes REXEC with one-word reads");
        // Both neighbours were simulated, also where they are not among the numbers that all cases have.
        assert!(from > 1 && rpc.iter().any(|row| row.clients() == from - 1), "{from}");
        assert!(rpc.iter().any(|row| row.clients() == from), "{from}");
        for (rexec, rpc) in rexec.into_iter().zip(rpc) {
            assert_eq!(rexec.clients(), rpc.clients());
            let is_ahead = rpc.mean() > 1.01 * rexec.mean();
            if rpc.clients() >= from {
                assert!(is_ahead && rpc.runs.iter().zip(&rexec.runs).all(|(rpc, rexec)| rpc > rexec));
            } else if rpc.clients() + 1 == from {
                assert!(!is_ahead, "{}", finding.numbers);
            }
        }
        assert!(finding.numbers.contains(&format!("with {from}: +")), "{}", finding.numbers);
        assert!(finding.numbers.contains("significant"), "{}", finding.numbers);
    }
}

#[test]
fn a_finding_says_what_it_is_with_the_other_factor() {
    let clients = |factor| {
        let of = |finding: &&Finding| finding.question == Question::Clients && finding.factor == factor;
        SMALL.findings.iter().find(of).unwrap()
    };
    let sensitivity = clients(Factor::Fitted).sensitivity.as_ref().unwrap();
    assert_eq!(sensitivity.verdict, clients(Factor::One).verdict);
    assert!(clients(Factor::Fitted).sentence().contains("LAN factor of 1.0"));
    assert_eq!(clients(Factor::One).sensitivity, None);
}

#[test]
fn a_lower_factor_shortens_large_reads() {
    let mut experiment = Experiment::new(case(Model::Rpc, LARGE), Setting::STUDY);
    experiment.span = Span { warm_up: 0.0, window: 30.0 };
    let of = |factor| measure(Question::Clients, &experiment.with_factor(factor), 1);
    let (fitted, one) = (of(Factor::Fitted), of(Factor::One));
    assert!(one.mean() > 1.2 * fitted.mean(), "{} {}", one.mean(), fitted.mean());
    assert!((Factor::Fitted.value() - Inferred::FITTED.expansion).abs() < 1e-12);
}

#[test]
fn each_row_is_an_object_and_the_last_one_says_what_was_found() {
    let objects = SMALL.objects();
    let (sum, rows) = objects.split_last().unwrap();
    assert_eq!(rows.len(), SMALL.rows.len());
    for row in rows {
        for (key, is_such) in KEYS {
            assert!(row.get(key).is_some_and(is_such), "{key}: {row}");
        }
        assert_eq!(row.as_object().unwrap().len(), KEYS.len());
        let utilisations = row["utilisations"].as_object().unwrap();
        assert!(ELEMENTS.iter().all(|element| utilisations[*element].is_number()));
        assert_eq!(utilisations.len(), ELEMENTS.len());
        assert_eq!(row["bound_element"].is_string(), row["bound"] == "element");
        assert_eq!(row["throughput_by_seed"].as_array().unwrap().len(), 2);
    }
    assert_eq!(sum["rows"], rows.len());
    let findings = sum["findings"].as_array().unwrap();
    assert_eq!(findings.len(), SMALL.findings.len());
    for finding in findings {
        for key in ["question", "case", "verdict", "numbers", "text"] {
            assert!(finding[key].is_string(), "{key}: {finding}");
        }
        assert!(finding["lan_factor"].is_number() && (finding["from"].is_u64() || finding["from"].is_null()));
    }
}

type Check = fn(&Value) -> bool;

/// What a row's object has.
const KEYS: [(&str, Check); 30] = [
    ("question", Value::is_string),
    ("case", Value::is_string),
    ("lan", Value::is_string),
    ("transport", Value::is_string),
    ("server_mips", Value::is_u64),
    ("machines", Value::is_string),
    ("application", Value::is_string),
    ("size", Value::is_u64),
    ("vector_processor", Value::is_boolean),
    ("model", Value::is_string),
    ("encoding", Value::is_string),
    ("commands", Value::is_u64),
    ("lan_factor", Value::is_number),
    ("clients", Value::is_u64),
    ("heads", Value::is_u64),
    ("server_processors", Value::is_u64),
    ("throughput", |value| value["mean"].is_number() || value.is_null()),
    ("unit", Value::is_string),
    ("seconds", |value| value["mean"].is_number() || value.is_null()),
    ("missing", |value| value.is_string() || value.is_null()),
    ("throughput_by_seed", Value::is_array),
    ("idle_clients", Value::is_u64),
    ("bound", |value| value == "element" || value == "latency"),
    ("bound_element", |value| value.is_string() || value.is_null()),
    ("waiting", Value::is_number),
    ("bottleneck", Value::is_string),
    ("bottleneck_utilisation", Value::is_number),
    ("utilisations", Value::is_object),
    ("lost", Value::is_u64),
    ("seeds", Value::is_u64),
];

#[test]
fn the_page_has_each_row_and_finding_and_each_group_a_figure() {
    let page = SMALL.html(&|figure| {
        assert!(figure.lines.iter().all(|line| line.points.is_sorted_by(|one, other| one.x < other.x)));
        format!("<svg>{}</svg>", figure.title)
    });
    // One-word reads with either factor, and the job.
    assert_eq!(page.matches("<svg>").count(), 3);
    assert_eq!(page.matches("<tr><td>").count(), SMALL.rows.len());
    let told = || SMALL.findings.iter().filter(|finding| finding.factor == Factor::Fitted);
    assert_eq!(page.matches("<li>").count(), told().count());
    let text = SMALL.to_string();
    assert!(told().all(|finding| text.contains(&finding.sentence())));
}

#[test]
fn a_row_in_which_none_ends_says_so() {
    let chosen = |experiment: &Experiment| {
        let Case { lan, transport, application, .. } = experiment.case;
        (lan, transport, application) == (Lan::Ethernet, Transport::Tcp, LARGE)
    };
    // 1.5 seconds are less than any large read takes.
    let plan = Plan { questions: &[Question::Clients], seeds: 1, share: 0.01, chosen: &chosen };
    let what_if = answer(&plan, &|_| ());
    assert!(what_if.rows.iter().all(|row| row.throughput.is_none() && row.mean() == 0.0));
    let objects = what_if.objects();
    assert!(objects[0]["throughput"].is_null() && objects[0]["seconds"].is_null());
    assert_eq!(objects[0]["missing"], "none ended");
    assert!(what_if.findings.iter().all(|finding| finding.from.is_none()));
    for shown in [what_if.to_string(), what_if.html(&|figure| figure.title.clone())] {
        assert!(shown.contains("none ended") && !shown.contains("inf") && !shown.contains("NaN"), "{shown}");
    }
}

#[test]
fn what_is_not_bound_by_an_element_is_bound_by_its_latency() {
    let job = |clients, heads| {
        let job = Application::Batch { elements: 1_000, vector_processor: true };
        row(case(Model::Rpc, job), Setting { clients, heads, ..Setting::STUDY }, 1)
    };
    let alone = job(1, 1);
    assert_eq!(alone.bound(), Bound::Latency);
    assert!(alone.waiting().abs() < 2.0, "one client waits for nobody: {}", alone.waiting());
    // A head each, and the server's processor is shared: clients wait for it while it is not busy all the time.
    let some = job(16, 16);
    assert_eq!(some.bound(), Bound::Latency);
    assert!(some.waiting() > 40.0, "{}", some.waiting());
    // Little's law, but for what the ends cut off.
    let cycle = some.seconds.unwrap().mean * some.mean() / 1_000.0;
    assert!((cycle / 16.0 - 1.0).abs() < 0.02, "{cycle}");
    let crowd = job(48, 48);
    assert_eq!(crowd.bound(), Bound::Element("server applic"));
}

#[test]
fn each_experiment_that_ends_is_told() {
    let chosen = |experiment: &Experiment| {
        experiment.case.application == ONE_WORD && experiment.case.lan == Lan::Ethernet
    };
    let (ended, known) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let plan = Plan { questions: &[Question::Clients], seeds: 1, share: 0.05, chosen: &chosen };
    let what_if = answer(&plan, &|of| {
        ended.fetch_add(1, Ordering::Relaxed);
        known.fetch_max(of, Ordering::Relaxed);
    });
    let rows = what_if.rows.len();
    assert_eq!((ended.into_inner(), known.into_inner()), (rows, rows));
}
