//! Runs that a driver has a part in, from outside.

use quintet_model::{Driver, Ended, Model, Place, Problem};
use quintet_simulate::{Command, Picos, Simulation};

/// A client that asks a server over a link, and a module beside it on its processor.
const TEXT: &str = r#"
    [model]
    name = "driven"
    event_limit = 1_000
    [parameters]
    pause = "2 * 3"
    [processor.cpu]
    cycle = "1 us"
    instructions = { think = "2 ms" }
    [processor.server]
    instructions = { serve = "10 ms" }
    [device.net]
    kind = "link"
    stations = ["cpu", "server"]
    delay = "1 ms"
    [module.client]
    on = "cpu"
    waits_for = { answer = 1 }
    do = [{ execute = "think" }, { send = "question", to = "serve", bytes = "100 B", through = "net", times = 2 }]
    [module.serve]
    on = "server"
    waits_for = { question = 1 }
    do = [{ execute = "serve" }, { send = "answer", to = "client", bytes = "200 B", through = "net" }]
"#;

const DONE: u64 = 7;

/// Thinks, asks, and notes when it was called for what.
struct Client {
    places: Vec<Place>,
    log: Vec<(&'static str, Picos)>,
    /// The number of answers after which it ends the run.
    patience: usize,
    rests: Option<bool>,
}

impl Client {
    fn new(places: Vec<Place>, patience: usize) -> Client {
        Client { places, log: Vec::new(), patience, rests: None }
    }
}

impl Driver for Client {
    fn begin(&mut self, run: &mut Simulation) {
        run.call_at(milliseconds(5), 1);
    }

    fn call(&mut self, number: u64, run: &mut Simulation) -> bool {
        let place = &self.places[0];
        self.log.push((if number == DONE { "done" } else { "called" }, run.clock()));
        if number != DONE {
            run.command(place.address, Command::Execute(place.instructions["think"], 1), DONE);
            run.command(place.address, Command::Execute(place.cycles.expect("one instruction"), 500), DONE);
            run.command(place.address, place.sends[0].command(100), DONE);
        }
        true
    }

    fn received(&mut self, place: usize, run: &mut Simulation) -> bool {
        let received = run.take_received(self.places[place].address).expect("it was told");
        assert_eq!((received.message, received.bytes), (self.places[place].messages["answer"], 200));
        self.log.push(("answer", run.clock()));
        self.patience -= 1;
        self.patience > 0
    }

    fn warm(&mut self, run: &Simulation) {
        self.log.push(("warm", run.clock()));
    }

    fn ended(&mut self, run: &Simulation) {
        self.rests = Some(run.next_at().is_none());
    }

    fn look(&mut self) -> bool {
        true
    }
}

const fn milliseconds(count: u64) -> Picos {
    Picos(count * 1_000_000_000)
}

fn model() -> Model {
    Model::driven_from_str(TEXT, "driven.toml", &["client"]).unwrap_or_else(|error| panic!("{error}"))
}

fn run(model: &Model, patience: usize) -> (Option<quintet_model::RunResult>, Client) {
    let driven = model.run_driven(1, |places| Client::new(places, patience));
    driven.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_program_does_what_its_module_may_in_its_place() {
    let (result, client) = run(&model(), 9);
    let micros = |count: u64| Picos(count * 1_000_000);
    let expected = [
        ("called", milliseconds(5)),
        ("done", milliseconds(7)),
        ("done", micros(7_500)),
        ("done", micros(7_500)),
        ("answer", micros(19_500)),
    ];
    assert_eq!((client.log, client.rests), (expected.to_vec(), Some(true)));
    let result = result.expect("it came to its end");
    assert_eq!((result.ended, result.modules["serve"].activations), (Ended::NothingLeft, 1));
    assert_eq!(result.modules["client"].activations, 0, "the module itself does nothing");
}

#[test]
fn a_place_names_what_can_be_done_there() {
    let (_, client) = run(&model(), 9);
    let place = &client.places[0];
    assert_eq!((client.places.len(), place.name.as_str()), (1, "client"));
    let sends: Vec<_> = place.sends.iter().map(|sent| (sent.message.as_str(), sent.to.as_str())).collect();
    assert_eq!(sends, [("question", "serve")], "once, though it is sent twice");
    assert!((place.sends[0].bytes.mean() - 100.0).abs() < 1e-9);
}

#[test]
fn a_driver_ends_a_run_and_hears_of_the_warm_up() {
    let (result, client) = run(&model(), 1);
    assert!(result.is_none() && client.rests.is_some());
    let (result, client) = run(&model().with("end", "1 s").with("warm_up", "6 ms"), 9);
    assert!(result.is_some());
    assert_eq!(client.log[1], ("warm", milliseconds(6)));
}

#[test]
fn a_run_with_a_driver_is_the_same_again() {
    let digest = || run(&model(), 9).0.map(|result| result.digest);
    assert_eq!(digest(), digest());
}

#[test]
fn a_model_with_a_driver_needs_no_modules() {
    let text = "[model]\nname = \"empty\"";
    assert!(Model::from_str(text, "").is_err());
    Model::driven_from_str(text, "", &[]).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn programs_have_the_places_of_modules_that_nothing_follows() {
    let problem = |text: &str, program: &str| {
        let error = Model::driven_from_str(text, "", &[program]).expect_err("there is a problem");
        error.problems.into_iter().map(|problem| (problem.key, problem.kind.to_string())).next()
    };
    let (key, text) = problem(TEXT, "cleint").expect("one problem");
    assert_eq!(key, "process.cleint");
    assert!(text.contains("client"), "{text}");
    let more = "[module.after]\non = \"cpu\"\nafter = [\"client\"]";
    let (key, text) = problem(&format!("{TEXT}\n{more}"), "client").expect("one problem");
    assert_eq!(key, "module.client");
    assert!(text.contains("after starts after it"), "{text}");
    // Without the program neither module has anybody to start it.
    assert!(Model::from_str(TEXT, "").is_err());
}

#[test]
fn programs_have_no_places_of_modules_that_do_what_they_cannot() {
    let with = |actions: &str| {
        let sent = "{ send = \"question\", to = \"serve\", bytes = \"100 B\", through = \"net\", times = 2 }";
        TEXT.replace(sent, &format!("{sent}, {actions}"))
    };
    for (actions, place, cannot) in [
        ("{ wait = \"hint\" }", "do[2]", "wait for a message that is not in waits_for"),
        ("{ ask = \"question\", to = \"serve\", through = \"net\" }", "do[2]", "ask"),
        ("{ repeat = 2, do = [{ reply = \"any\" }] }", "do[2].do[0]", "reply"),
        ("{ if = \"queue > 1\", do = [], else = [{ cancel = \"serve\" }] }", "do[2].else[0]", "cancel"),
        ("{ use = \"disks\", time = \"1 ms\" }", "do[2]", "use a pool"),
    ] {
        let text = format!("{}\n[pool.disks]\n", with(actions));
        let error = Model::driven_from_str(&text, "", &["client"]).expect_err(cannot);
        let key = format!("module.client.{place}");
        let expected = format!("a program in the place of its module cannot {cannot}");
        let said = |problem: &Problem| problem.key == key && problem.kind.to_string().contains(&expected);
        assert!(error.problems.iter().any(said), "{actions}: {error}");
    }
    let decides = with("{ if = \"queue > 1\", do = [{ pause = \"1 ms\" }] }");
    Model::driven_from_str(&decides, "", &["client"]).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn sources_begin_when_the_parameters_say() {
    let model = model();
    assert_eq!(model.parameter_values().get("pause"), Some(&6.0));
    let text = "[module.one]\nstart = \"pause * 1 s\"\nevery = \"2 s\"\nlimit = 3\n[module.two]";
    let timings = model.timings(text).unwrap_or_else(|error| panic!("{error}"));
    let one = timings["one"].as_ref().expect("it begins by itself");
    assert_eq!(
        (one.first.mean(), one.every.as_ref().map(|every| every.mean()), one.limit),
        (6.0, Some(2.0), 3)
    );
    assert!(timings["two"].is_none());
    let error = model.timings("[module.one]\nevery = \"2 m\"").expect_err("metres are no time");
    assert_eq!((error.problems[0].key.as_str(), &error.problems[0].file), ("process.one.every", &None));
}
