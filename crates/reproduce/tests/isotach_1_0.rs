use quintet_reproduce::isotach_1_0::Simulated;
#[test]
fn x() {
    let t = std::time::Instant::now();
    let all = Simulated::run(true, 1);
    eprintln!("{all}\n quick {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let all = Simulated::run(false, 3);
    eprintln!("{all}\n full {:?}", t.elapsed());
}
