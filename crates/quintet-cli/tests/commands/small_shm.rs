//! `doctor` where `/dev/shm` is small and full.

use crate::tool::LONG;
use quintet_testbed::Program;
use serde_json::Value;

/// In a mount namespace of its own, so that nothing outside is touched.
const MOUNT: &str = "mount -t tmpfs -o size=64k tmpfs /dev/shm || { echo cannot mount; exit 0; }
head -c 65536 /dev/zero >/dev/shm/full
exec \"$0\" doctor --json";

#[test]
fn doctor_says_that_it_is_small_and_that_sharing_memory_works() {
    let program = Program::new("unshare").arg("-m").arg("sh").arg("-c").arg(MOUNT);
    let Ok(mut child) = program.arg(env!("CARGO_BIN_EXE_quintet")).spawn() else {
        return println!("skipped: there is no program unshare");
    };
    let Some(said) = child.output().next_line(LONG).filter(|line| line.starts_with('{')) else {
        return println!("skipped: no mount namespace here: {}", child.output().text());
    };
    assert!(child.wait(LONG).unwrap().expect("it ends").success());
    let report: Value = serde_json::from_str(&said).unwrap();
    let check = |name: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).expect("it is looked at").clone()
    };
    let shm = check("/dev/shm");
    assert_eq!((&shm["state"], &shm["value"]), (&"warn".into(), &"64 KiB, 0 KiB free".into()));
    assert_eq!(check("shared memory")["state"], "ok", "{said}");
}
