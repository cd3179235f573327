//! What a host sees goes to `tracing`, where a program that uses the library finds it: nothing is to be switched on.

use quintet::{Event, LinkAddress, ServeConfig, Server};
use quintet_testbed::TempDir;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing_subscriber::fmt::MakeWriter;

/// Longer than anything here takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

struct Lines(Mutex<Sender<String>>);

impl Write for &Lines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8(line.to_vec()).expect("text");
        self.0.lock().expect("no panic").send(text).expect("the test listens");
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = &'a Lines;

    fn make_writer(&'a self) -> &'a Lines {
        self
    }
}

fn stranger(server: &Server) {
    let LinkAddress::Unix(path) = &server.addresses()[0] else { panic!("a Unix socket") };
    let mut stranger = UnixStream::connect(path).expect("it listens");
    stranger.write_all(&[b'x'; 4096]).expect("it is read");
    let _ = stranger.read_to_end(&mut Vec::new());
}

#[test]
fn a_programs_own_subscriber_hears_of_them_unless_it_takes_them_itself() {
    let (told, lines) = channel();
    let lines_of_events = Lines(Mutex::new(told));
    tracing_subscriber::fmt().with_ansi(false).with_writer(lines_of_events).init();
    let folder = TempDir::new().expect("a temporary directory");
    let served = |name: &str, config: &ServeConfig| {
        Server::start(LinkAddress::Unix(folder.join(name)), config).expect("it starts")
    };
    stranger(&served("space", &ServeConfig::default()));
    let line = lines.recv_timeout(LONG).expect("it is told");
    assert!(
        line.contains("WARN quintet::link: a connection was not made") && line.contains("node=0"),
        "{line}"
    );

    let (told, events) = channel();
    let told = Mutex::new(told);
    let sink = Arc::new(move |event: &Event| {
        told.lock().expect("no panic").send(event.clone()).expect("the test listens");
    });
    stranger(&served("own", &ServeConfig { events: Some(sink), ..ServeConfig::default() }));
    assert!(matches!(events.recv_timeout(LONG), Ok(Event::NotConnected { .. })));
    assert!(lines.try_recv().is_err(), "it was told once");
}
