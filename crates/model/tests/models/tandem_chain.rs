//! Two servers one behind the other with little room before each, as a Markov chain, solved here: what finds no room is lost, or keeps
//! the server before from going on.

use quintet_model::{Device, Draw, Model, Module, Processor, Study};

/// Customers come at random, 100 a second, and both services are exponential.
const ARRIVALS: f64 = 100.0;

/// What becomes of a customer that the first server is done with while the second one's room is full.
#[derive(Clone, Copy, PartialEq)]
enum Full {
    /// It is lost.
    Lost,
    /// It stays where it is, and the first server serves nobody: blocking after service.
    Blocks,
}

/// So many customers at both servers, those being served and one that stays there included, and how fast they serve, a second.
#[derive(Clone, Copy)]
struct Tandem {
    room: [usize; 2],
    rates: [f64; 2],
    full: Full,
}

/// What the chain says: shares of all customers, and of time.
struct Solved {
    lost_before_first: f64,
    lost_before_second: f64,
    first_serves: f64,
    first_is_blocked: f64,
    second_serves: f64,
    at_first: f64,
    at_second: f64,
}

/// How many are at the first server, how many at the second, whether the first one is blocked.
type State = (usize, usize, bool);

impl Tandem {
    /// Where the chain goes from a state, and how often a second.
    fn moves(&self, (first, second, blocked): State) -> Vec<(State, f64)> {
        let mut moves = Vec::new();
        if first < self.room[0] {
            moves.push(((first + 1, second, blocked), ARRIVALS));
        }
        if first > 0 && !blocked {
            let after = match (second < self.room[1], self.full) {
                (true, _) => (first - 1, second + 1, false),
                (false, Full::Lost) => (first - 1, second, false),
                (false, Full::Blocks) => (first, second, true),
            };
            moves.push((after, self.rates[0]));
        }
        if second > 0 {
            let after = if blocked { (first - 1, second, false) } else { (first, second - 1, blocked) };
            moves.push((after, self.rates[1]));
        }
        moves
    }

    /// The shares of time in all states, by Grassmann, Taksar and Heyman (1985).
    fn shares(&self) -> Vec<(State, f64)> {
        let blocked = |first: usize, second: usize| {
            let can = self.full == Full::Blocks && first > 0 && second == self.room[1];
            if can { vec![false, true] } else { vec![false] }
        };
        let pairs =
            (0..=self.room[0]).flat_map(|first| (0..=self.room[1]).map(move |second| (first, second)));
        let states: Vec<State> = pairs
            .flat_map(|(first, second)| {
                blocked(first, second).into_iter().map(move |held| (first, second, held))
            })
            .collect();
        let place = |state: State| states.iter().position(|other| *other == state).expect("a state");
        let mut rates = vec![vec![0.0; states.len()]; states.len()];
        for (from, state) in states.iter().enumerate() {
            self.moves(*state).into_iter().for_each(|(to, rate)| rates[from][place(to)] += rate);
        }
        // Takes out the last state, whose part those that lead there have in it.
        for last in (1..states.len()).rev() {
            let leaves: f64 = rates[last][..last].iter().sum();
            let away = rates[last].clone();
            for row in &mut rates[..last] {
                row[last] /= leaves;
                let part = row[last];
                row[..last].iter_mut().zip(&away).for_each(|(rate, on)| *rate += part * on);
            }
        }
        let mut shares = vec![1.0];
        for state in 1..states.len() {
            shares.push(shares.iter().zip(&rates).map(|(share, row)| share * row[state]).sum());
        }
        let all: f64 = shares.iter().sum();
        states.into_iter().zip(shares.into_iter().map(|share| share / all)).collect()
    }

    fn solve(&self) -> Solved {
        let shares = self.shares();
        let sum = |value: &dyn Fn(State) -> f64| {
            shares.iter().map(|(state, share)| share * value(*state)).sum::<f64>()
        };
        let part = |holds: &dyn Fn(State) -> bool| sum(&|state| f64::from(u8::from(holds(state))));
        let no_room =
            part(&|(first, second, _)| self.full == Full::Lost && first > 0 && second == self.room[1]);
        Solved {
            lost_before_first: part(&|(first, ..)| first == self.room[0]),
            lost_before_second: no_room * self.rates[0] / ARRIVALS,
            first_serves: part(&|(first, _, blocked)| first > 0 && !blocked),
            first_is_blocked: part(&|(.., blocked)| blocked),
            second_serves: part(&|(_, second, _)| second > 0),
            at_first: sum(&|(first, ..)| first as f64),
            at_second: sum(&|(_, second, _)| second as f64),
        }
    }

    /// The same as a model: the second server is a processor whose queue has a limit, or a bus that has a window.
    fn model(&self) -> Model {
        let exponential = |rate: f64| Draw::exponential(format!("{} ms", 1e3 / rate));
        // Queue limits are for what comes by a device; these are there at once.
        let instant = |stations: [&str; 2]| Device::new("bus", &stations).with("rate", "1000 Gb/s");
        let waiting = |room: usize| f64::from(u32::try_from(room - 1).expect("a small number"));
        let first = Processor::new().instruction("serve", exponential(self.rates[0]));
        let arrive = Module::on("world").start(exponential(ARRIVALS)).every(exponential(ARRIVALS));
        let serve = Module::on("first").waits_for("customer", 1.0).execute("serve");
        let model = Model::new("tandem")
            .with("end", "300 s")
            .with("warm_up", "2 s")
            .processor("world", Processor::new())
            .processor("first", first.with("queue_limit", waiting(self.room[0])))
            .device("door", instant(["world", "first"]))
            .module("arrive", arrive.send("customer", "serve_first", "0 B", "door"));
        match self.full {
            Full::Lost => {
                let second = Processor::new().instruction("serve", exponential(self.rates[1]));
                let last = Module::on("second").waits_for("customer", 1.0).execute("serve");
                model
                    .processor("second", second.with("queue_limit", waiting(self.room[1])))
                    .device("between", instant(["first", "second"]))
                    .module("serve_first", serve.send("customer", "serve_second", "0 B", "between"))
                    .module("serve_second", last)
            }
            Full::Blocks => {
                // A megabyte in the mean, so that whole bytes are as good as any time.
                let rate = format!("{} MB/s", self.rates[1]);
                let room = u32::try_from(self.room[1]).expect("a small number");
                let bus = Device::new("bus", &["first", "second"]).with("rate", rate.as_str());
                model
                    .processor("second", Processor::new())
                    .device("between", bus.with("window", room))
                    .module(
                        "serve_first",
                        serve.send("customer", "leave", Draw::exponential("1 MB"), "between"),
                    )
                    .module("leave", Module::on("second").waits_for("customer", 1.0))
            }
        }
    }
}

fn study(tandem: Tandem) -> Study {
    tandem.model().replicate(&(0..16).collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether an interval of 99.9 % of the runs' values has what is exact, and says something about it: six hundredths of it to each side.
fn covers(name: &str, study: &Study, exact: f64, value: impl Fn(&dyn Fn(&str) -> f64) -> f64) {
    let values: Vec<f64> = study
        .runs
        .iter()
        .map(|run| {
            let quantities = run.quantities();
            value(&|name| *quantities.get(name).unwrap_or_else(|| panic!("{name} is not measured")))
        })
        .collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // Student's t for 15 degrees of freedom.
    let half_width = 4.073 * (variance / count).sqrt();
    assert!((mean - exact).abs() < half_width, "{name}: {mean} +- {half_width}, exactly {exact}");
    assert!(half_width < 0.06 * exact, "{name}: too wide to tell: {mean} +- {half_width}");
}

#[test]
fn the_chain_is_that_of_single_servers_where_these_are_known() {
    // The first alone is M/M/1/4, whatever becomes of those that it is done with.
    let tandem = Tandem { room: [4, 2], rates: [125.0, 90.0], full: Full::Lost };
    let load: f64 = 0.8;
    let full = load.powi(4) * (1.0 - load) / (1.0 - load.powi(5));
    assert!((tandem.solve().lost_before_first - full).abs() < 1e-9);
    // With room for everything behind it, blocking or not is the same, and the second is a server of Burke's.
    let wide = Tandem { room: [16, 16], rates: [500.0, 400.0], full: Full::Blocks };
    let found = wide.solve().at_second;
    assert!((found - 0.25 / 0.75).abs() < 1e-6, "{found}");
}

#[test]
fn customers_without_room_are_lost_as_the_chain_has_it() {
    for (room, rates) in [([4, 3], [125.0, 90.0]), ([1, 1], [100.0, 100.0])] {
        let tandem = Tandem { room, rates, full: Full::Lost };
        let (exact, study) = (tandem.solve(), study(tandem));
        let name = |what: &str| format!("room for {room:?}: {what}");
        covers(&name("lost before the first"), &study, exact.lost_before_first, |of| {
            of("processor.first.lost") / of("module.arrive.activations")
        });
        covers(&name("lost before the second"), &study, exact.lost_before_second, |of| {
            of("processor.second.lost") / of("module.arrive.activations")
        });
        covers(&name("first"), &study, exact.first_serves, |of| of("processor.first.utilisation"));
        covers(&name("second"), &study, exact.second_serves, |of| of("processor.second.utilisation"));
    }
}

#[test]
fn a_server_that_waits_for_room_behind_it_is_blocked_as_the_chain_has_it() {
    for (room, rates) in [([4, 3], [150.0, 110.0]), ([1, 1], [120.0, 80.0])] {
        let tandem = Tandem { room, rates, full: Full::Blocks };
        let (exact, study) = (tandem.solve(), study(tandem));
        assert!(exact.first_is_blocked > 0.02, "there is something to find: {}", exact.first_is_blocked);
        let name = |what: &str| format!("room for {room:?}: {what}");
        covers(&name("lost"), &study, exact.lost_before_first, |of| {
            of("processor.first.lost") / of("module.arrive.activations")
        });
        covers(&name("first serves"), &study, exact.first_serves, |of| of("processor.first.utilisation"));
        covers(&name("second serves"), &study, exact.second_serves, |of| of("device.between.utilisation"));
        // Little: who is at the first server, the one that is blocked included, by how long he stays there.
        let stay = exact.at_first / (ARRIVALS * (1.0 - exact.lost_before_first));
        covers(&name("stay"), &study, stay, |of| of("module.serve_first.response"));
        let waits = exact.at_second - exact.second_serves;
        if room[1] > 1 {
            covers(&name("queue"), &study, waits, |of| of("device.between.queue"));
        }
    }
}
