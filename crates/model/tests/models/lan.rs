//! `models/lan.toml`, which is set beside ns-3 (`make -C benches/peers compare`): what is known of it without either.

use quintet_model::{Ended, Model, Study};
use std::path::Path;

const DESKS: f64 = 12.0;
const RATE: f64 = 16_000.0;

fn study() -> Study {
    let model = Model::from_file(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/lan.toml"));
    let model = model.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(model.warnings(), []);
    let model = model.with("end", "0.35 s").with("warm_up", "50 ms");
    model.replicate(&(0..8).collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn ports_lose_what_they_do_not_send_and_a_desk_is_a_queue_of_its_own() {
    let study = study();
    for run in &study.runs {
        assert_eq!(run.ended, Ended::AtEnd);
        let quantities = run.quantities();
        let port = |name: &str, what: &str| quantities[&format!("port.lan.{name}.{what}")];
        // What a port sends or drops is what those before it sent, but for what is under way at both ends of the time: some tens.
        for (before, after) in [
            ("desk.desk", "building.up"),
            ("building.up", "router.core"),
            ("router.core", "hall.server"),
            ("hall.server", "server.server"),
            ("server.server", "hall.core"),
            ("hall.core", "router.up"),
            ("router.up", "building.desk"),
        ] {
            let (sent, came) = (port(before, "packets"), port(after, "packets") + port(after, "dropped"));
            assert!((sent - came).abs() < 40.0, "{before}: {sent}, {after}: {came}");
        }
        assert!(port("hall.core", "dropped") > 100.0 && port("router.up", "dropped") > 100.0);
        // Where what comes is slower than what goes, nothing waits.
        for never in ["router.core", "hall.server", "building.desk"] {
            assert!(port(never, "dropped") == 0.0, "{never}");
        }
        let lost: f64 =
            ["building.up", "hall.core", "router.up"].map(|name| port(name, "dropped")).iter().sum();
        let (answered, asked) = (quantities["measure.page.count"], quantities["module.ask.activations"]);
        assert!((asked - answered - lost).abs() < 300.0, "{asked} asked, {answered} answered, {lost} lost");
    }
    // A desk's own port is M/D/1: 1,000 bytes at 1 Gb/s are 8 us.
    let load: f64 = RATE * 8e-6;
    let waits = study.interval("port.lan.desk.desk.queue", 0.999).expect("measured").expect("eight runs");
    let exact = DESKS * load * load / (2.0 * (1.0 - load));
    assert!(waits.contains(exact) && waits.half_width < 0.05 * exact, "{waits:?}, exactly {exact}");
    let busy = study.mean("port.lan.desk.desk.utilisation").expect("measured");
    assert!((busy - load).abs() < 0.01 * load, "{busy} for {load}");
    // 4 links there, 4 back, and no wait: 8 + 8 + 3.2 + 0.8 us, 1.2 + 4.8 + 12 + 12, and twice 11.5 of delay.
    let page = study.mean("measure.page").expect("measured");
    assert!(page > 73.0e-6 && page < 120.0e-6, "{page}");
}
