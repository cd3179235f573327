use quintet_explore::spaces::{Placement, Spaces};
use quintet_explore::system::{Options, explore, shrink};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: u64 = a[2].parse().unwrap();
    let f: u64 = a.get(3).map_or(0, |s| s.parse().unwrap());
    let p = Placement::ALL.into_iter().find(|p| p.name() == a[1]).unwrap();
    let t = std::time::Instant::now();
    let s = Spaces::new(p);
    let r = explore(&s, &Options::of(f..f + n));
    let k = r.schedules;
    println!(
        "{} {} {} {} {} {:.0} a second",
        k,
        r.events,
        r.requests,
        r.answers,
        r.faults,
        k as f64 / t.elapsed().as_secs_f64()
    );
    if let Some(f) = r.failure {
        println!("{:?} {} {}", f.seed, f.rule, f.text);
        let small =
            shrink(&s, &f, &Options { shown_events: 400, ..Options::of(0..1) }, &mut |n| n < 4000).unwrap();
        println!("{small}");
    }
}
