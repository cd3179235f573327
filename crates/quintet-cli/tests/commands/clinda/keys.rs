//! What a compiled program tells a space with several managers of its keys.

use super::program;
use crate::tool::result;
use quintet::{ServeConfig, Server};
use quintet_testbed::{Program, TempDir};
use std::time::Duration;

/// Far fewer templates than a space waits for. Of the texts each is whole at one manager; the last is found whatever it says.
const ROWS: &str = "#include <stdio.h>
void real_main(void)
{
    double x;
    int n;
    for (int i = 0; i < 8; i++)
        out(\"row\", i, 0.5 * i);
    for (int i = 7; i >= 0; i--) {
        in(\"row\", i, ?x);
        if (x == 0.5 * i)
            printf(\"row %d\\n\", i);
    }
    out(\"left\", 1);
    in(\"left\", ?n);
    printf(\"left %d\\n\", n);
}
";

#[test]
fn a_program_declares_its_keys_before_it_puts_anything() {
    let folder = TempDir::new().unwrap();
    let rows = program(&folder, "rows", ROWS);
    let socket = folder.join("space");
    let server = Server::start(&socket, &ServeConfig { managers: 3, ..ServeConfig::default() }).unwrap();
    let measured = |name: &str| -> u64 {
        let told = server.meter().measure(Duration::from_secs(60)).unwrap();
        told.iter().filter(|found| found.metric.name == name).map(|found| found.value).sum()
    };
    let run = || {
        let program = Program::new(&rows).env("QUINTET_SPACE", &socket);
        let (code, said) = result(program.spawn().unwrap());
        assert!(code == 0 && said.lines().count() == 9 && said.contains("row 0\nleft 1"), "{code}: {said}");
    };
    run();
    assert_eq!(measured("quintet_manager_migrations"), 1, "the rows, and not what is left");
    run();
    assert_eq!(measured("quintet_manager_migrations"), 1, "they are spread already");
    server.stop().unwrap();
}
