//! Measures a testbed of three machines: how long it takes to make and to remove, and what goes from one machine to another.
//!
//! ```sh
//! cargo run --release -p quintet-testbed --example throughput [PACKET_BYTES]
//! ```

use quintet_testbed::{Mode, Plan, Program, Testbed};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Bytes that are poured through a connection.
const BYTES: usize = 1 << 30;
/// Datagrams there and back.
const TRIPS: usize = 20_000;
const LIMIT: Duration = Duration::from_secs(120);
const PORT: u16 = 7400;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[1..] {
        ["serve"] => serve(),
        ["pour", to] => pour(to),
        ["ask", to] => ask(to),
        ref rest => measure(rest.first().map_or(Ok(1_500), |bytes| bytes.parse())?),
    }
}

fn measure(packet_bytes: u32) -> Result<(), Box<dyn Error>> {
    let plan = Plan { mode: Some(Mode::Namespaces), packet_bytes, ..Plan::unnamed(["a", "b", "c"]) };
    let start = Instant::now();
    let testbed = Testbed::up(&plan)?;
    println!("up: {:?}", start.elapsed());
    let (a, b) = (testbed.machine("a")?, testbed.machine("b")?);
    let this = std::env::current_exe()?;
    let server = Program::new(&this).arg("serve").on(&b)?.spawn()?;
    server.output().wait_for("ready", LIMIT).ok_or("no server")?;
    for what in ["pour", "ask"] {
        let client = Program::new(&this).arg(what).arg(b.address().to_string()).on(&a)?.spawn()?;
        println!("{}", client.output().wait_for("> ", LIMIT).ok_or_else(|| client.output().text())?);
    }
    let start = Instant::now();
    testbed.kill("b")?;
    println!("kill: {:?}", start.elapsed());
    let start = Instant::now();
    testbed.down()?;
    println!("down: {:?}", start.elapsed());
    Ok(())
}

fn serve() -> Result<(), Box<dyn Error>> {
    let (listener, socket) = (TcpListener::bind(("0.0.0.0", PORT))?, UdpSocket::bind(("0.0.0.0", PORT))?);
    println!("ready");
    let (mut stream, _) = listener.accept()?;
    let mut data = vec![0; 1 << 20];
    while stream.read(&mut data)? > 0 {}
    stream.write_all(b"k")?;
    loop {
        let (length, from) = socket.recv_from(&mut data)?;
        socket.send_to(&data[..length], from)?;
    }
}

fn pour(to: &str) -> Result<(), Box<dyn Error>> {
    let mut stream = TcpStream::connect((to, PORT))?;
    let data = vec![7; 1 << 20];
    let start = Instant::now();
    for _ in 0..BYTES / data.len() {
        stream.write_all(&data)?;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read_exact(&mut [0])?;
    println!("> TCP, one connection: {:.0} MB/s", BYTES as f64 / 1e6 / start.elapsed().as_secs_f64());
    Ok(())
}

fn ask(to: &str) -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    socket.connect((to, PORT))?;
    let mut times = Vec::new();
    for _ in 0..TRIPS {
        let start = Instant::now();
        socket.send(b"datagram")?;
        socket.recv(&mut [0; 64])?;
        times.push(start.elapsed());
    }
    times.sort();
    println!(
        "> UDP, there and back: {:?} (median), {:?} (99 of 100)",
        times[TRIPS / 2],
        times[TRIPS * 99 / 100]
    );
    Ok(())
}
