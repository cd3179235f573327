//! M/G/1 with the distributions that no formula of a file gives a service of directly: by Pollaczek and Khinchine, from the exact
//! moments. The others stand in `distributions.rs`.

use quintet_model::{Device, Draw, Model, Module, Processor};

/// The mean service in seconds, and the share of time in which the server is busy.
const SERVICE: f64 = 0.01;
const LOAD: f64 = 0.7;

fn text(service: &str) -> String {
    format!(
        r#"
        [model]
        name = "M/G/1"
        end = "200 s"
        warm_up = "5 s"
        [processor.world]
        [processor.server.instructions]
        serve = {service}
        [device.door]
        kind = "link"
        stations = ["world", "server"]
        [module.arrive]
        on = "world"
        start = {{ exponential = {{ mean = "10 ms / 0.7" }} }}
        every = {{ exponential = {{ mean = "10 ms / 0.7" }} }}
        do = [{{ send = "customer", to = "serve", through = "door" }}]
        [module.serve]
        on = "server"
        waits_for = {{ customer = 1 }}
        do = [{{ execute = "serve" }}]
        "#
    )
}

fn queue(service: &str) -> Model {
    Model::from_str(&text(service), "m.toml").unwrap_or_else(|error| panic!("{service}: {error}"))
}

/// Whether the mean wait is that of services with the square of a coefficient of variation, told apart from a tenth more or less.
fn check(name: &str, model: &Model, quantity: &str, variation: f64) {
    let study = model.replicate(&(0..32).collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));
    let exact = LOAD * SERVICE * (1.0 + variation) / (2.0 * (1.0 - LOAD));
    let interval = study.interval(quantity, 0.999).expect("measured").expect("32 runs");
    assert!(interval.contains(exact), "{name}: {interval:?}, exactly {exact}");
    assert!(interval.half_width < 0.1 * exact, "{name}: too wide to tell: {interval:?}");
}

/// Mean and variance of a normal distribution without its negative values, by Simpson's rule.
fn above_zero(mean: f64, deviation: f64) -> (f64, f64) {
    let density = |x: f64| (-0.5 * ((x - mean) / deviation).powi(2)).exp();
    let (steps, top) = (20_000, mean + 12.0 * deviation);
    let width = top / f64::from(steps);
    let moment = |power: i32| {
        let at = |step: i32| f64::from(step) * width;
        let value = |step: i32| at(step).powi(power) * density(at(step));
        let weight = |step: i32| if step == 0 || step == steps { 1.0 } else { f64::from(2 + 2 * (step % 2)) };
        (0..=steps).map(|step| weight(step) * value(step)).sum::<f64>()
    };
    let (all, first, second) = (moment(0), moment(1), moment(2));
    (first / all, second / all - (first / all).powi(2))
}

#[test]
fn normal_services_are_those_without_their_negative_values() {
    // Scaled so that what is left has a mean of 10 ms; without the negative values it would be 6.9 ms +- 6.9 ms.
    let (mean, variance) = above_zero(1.0, 1.0);
    assert!((mean - 1.287_600).abs() < 1e-5 && (variance - 0.629_686).abs() < 1e-5, "{mean} {variance}");
    let scale = 10.0 / mean;
    let service = format!("{{ normal = {{ mean = \"{scale} ms\", deviation = \"{scale} ms\" }} }}");
    check("normal", &queue(&service), "module.serve.waiting", variance / (mean * mean));
}

#[test]
fn measured_values_have_the_moments_that_they_have() {
    // Straight between the values: half of all from 2 to 6 ms, half from 6 to 26.
    let service = r#"{ empirical = { cumulative = [["2 ms", 0], ["6 ms", 0.5], ["26 ms", 1]] } }"#;
    let second =
        (0.5 * (6f64.powi(3) - 2f64.powi(3)) / 4.0 + 0.5 * (26f64.powi(3) - 6f64.powi(3)) / 20.0) / 3.0;
    check("straight between", &queue(service), "module.serve.waiting", second / 100.0 - 1.0);

    // From a file, 10 ms in the mean: 0.6 + 4.5 + 4.9, whose squares are 0.6 + 67.5 + 240.1.
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("times.csv"), "1,6\n15,3\n49,1\n").expect("it is written");
    let file = folder.path().join("m.toml");
    let text = text(r#"{ empirical = { file = "times.csv", unit = "ms" } }"#);
    let model = Model::from_str(&text, &file.display().to_string());
    let model = model.unwrap_or_else(|error| panic!("{error}"));
    check("measured", &model, "module.serve.waiting", 2.082);
}

/// A bus whose messages have so many bytes in the mean, at a byte a millisecond.
#[test]
fn counts_are_poisson_s() {
    let arrival = || Draw::exponential("10 ms / 0.7");
    let mut arrive = Module::on("world").start(arrival()).every(arrival());
    arrive = arrive.send("customer", "leave", Draw::Poisson { mean: "10 B".into() }, "bus");
    let model = Model::new("M/Poisson/1")
        .with("end", "200 s")
        .with("warm_up", "5 s")
        .processor("world", Processor::new())
        .processor("beyond", Processor::new())
        .device("bus", Device::new("bus", &["world", "beyond"]).with("rate", "1 kB/s"))
        .module("arrive", arrive)
        .module("leave", Module::on("beyond").waits_for("customer", 1));
    check("poisson", &model, "device.bus.waiting", 0.1);
}
