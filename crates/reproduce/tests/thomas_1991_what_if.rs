//! The study's open questions: what must hold whatever the answers are.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_reproduce::thomas_1991::what_if::{ELEMENTS, Experiment, Question, Row, Span, answer, measure};
use quintet_reproduce::thomas_1991::{Application, Case, Inferred, Lan, Model, Setting, Transport, simulate};

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
            assert!((ours.seconds.mean / published.seconds - 1.0).abs() < 1e-9, "{case}");
            assert!((ours.utilisation("lan").unwrap() - published.lan).abs() < 1e-9, "{case}");
            let longer = row(case, Setting::STUDY, 1).seconds.mean;
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
            let gain = many.throughput.mean / alone.throughput.mean;
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
            assert!(row.throughput.mean >= 0.98 * last, "{model:?} {clients} {heads}");
            last = row.throughput.mean;
        }
    }
}

#[test]
fn a_head_more_relieves_what_is_saturated() {
    let of = |heads| row(case(Model::Rexec, JOB), Setting { clients: 4, heads, ..Setting::STUDY }, 1);
    let (one, four) = (of(1), of(4));
    assert_eq!(one.bottleneck().0, "vector processor");
    assert!(four.throughput.mean > 3.0 * one.throughput.mean);
}

#[test]
fn rpc_overtakes_rexec_where_the_server_is_the_bottleneck() {
    let of = |model, clients| row(case(model, ONE_WORD), Setting { clients, ..Setting::STUDY }, 2);
    assert!(of(Model::Rpc, 1).throughput.mean < of(Model::Rexec, 1).throughput.mean);
    let (rexec, rpc) = (of(Model::Rexec, 8), of(Model::Rpc, 8));
    assert_eq!((rexec.bottleneck().0, rpc.bottleneck().0), ("server applic", "server applic"));
    assert!(rpc.throughput.range().0 > rexec.throughput.range().1);
}

#[test]
#[ignore = "all experiments of a question: run it with --release"]
fn a_crossover_is_one_that_the_rows_show() {
    let what_if = answer(&[Question::Clients], 2, &|| ());
    for finding in &what_if.findings {
        let of = |model: &str| {
            let rows = what_if.rows.iter().filter(|row| row.experiment.label() == finding.case);
            rows.filter(|row| row.experiment.model() == model).collect::<Vec<&Row>>()
        };
        for (rexec, rpc) in of("rexec").into_iter().zip(of("rpc")) {
            assert_eq!(rexec.clients(), rpc.clients());
            if finding.from.is_some_and(|from| rexec.clients() >= from) {
                assert!(rpc.throughput.range().0 > rexec.throughput.range().1, "{}", finding.case);
            }
        }
    }
    let objects = what_if.objects();
    assert_eq!(objects.len(), what_if.rows.len() + 1);
    let first = objects[0].as_object().unwrap();
    for key in [
        "question",
        "case",
        "model",
        "clients",
        "heads",
        "server_processors",
        "throughput",
        "unit",
        "seconds",
        "bottleneck",
        "bottleneck_utilisation",
        "utilisations",
        "seeds",
    ] {
        assert!(first.contains_key(key), "{key}");
    }
    assert_eq!(first["utilisations"].as_object().unwrap().len(), ELEMENTS.len());
    let page = what_if.html(&|figure| format!("<svg>{}</svg>", figure.lines.len()));
    assert_eq!(page.matches("<svg>").count(), what_if.findings.len());
}
