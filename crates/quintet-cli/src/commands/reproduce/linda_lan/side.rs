//! The processes of the experiment: each says what it found as a JSON object a line, and ends with its input.

use super::usage;
use crate::connection::refused;
use clap::{Args, Subcommand};
use quintet::{
    Array, ArrayOf, Bytes, Code, ConnectConfig, ElementType, Error, Kernel, KernelConfig, Lab, LinkAddress,
    LinkConfig, Packets, ServeConfig, Server, Space, Tuple, Value, template, tuple,
};
use serde_json::{Value as Json, json};
use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Waits until it may begin.
type Begin<'a> = &'a dyn Fn() -> Result<(), Error>;

const ROW: &str = "row";
const COLUMN: &str = "column";
const TASK: &str = "task";
const DIMENSION: &str = "dimension";
const RESULT: &str = "result";
const BLOCK: &str = "block";
/// A worker is there, and waits for the dimension.
const READY: &str = "ready";

#[derive(Args)]
pub(crate) struct SideArguments {
    /// Send each frame in two packets
    #[arg(long)]
    two_packets: bool,
    /// What to prove to be over TLS
    #[arg(long, default_value = "")]
    identity: String,
    /// Serve or find the space here
    #[arg(long)]
    at: LinkAddress,
    #[command(subcommand)]
    side: Side,
}

#[derive(Subcommand)]
enum Side {
    /// Serves the space
    Manager,
    /// Stands between the processes of a machine and the manager
    Kernel {
        /// Where they find it
        listen: LinkAddress,
    },
    /// Multiplies rows by columns
    Worker,
    /// Puts matrices and tasks, and takes the results
    Matrix {
        /// How large the matrices are
        dimension: i32,
        /// How many workers there are
        workers: i32,
    },
    /// Puts ever larger blocks and takes them again
    Block {
        /// How many
        blocks: usize,
        /// Bytes of the first, and by which each is larger
        step: usize,
    },
}

impl SideArguments {
    /// Plays that part.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        match &self.side {
            Side::Manager => self.manage(),
            Side::Kernel { listen } => self.relay(listen),
            Side::Worker => say(&work(&self.connect()?.space())?),
            Side::Matrix { dimension, workers } => {
                say(&multiply(&self.connect()?.space(), (*dimension, *workers), &wait_to_begin)?)
            }
            Side::Block { blocks, step } => {
                say(&move_blocks(&self.connect()?.space(), (*blocks, *step), &wait_to_begin)?)
            }
        }?;
        Ok(ExitCode::SUCCESS)
    }

    /// A receiver sleeps as soon as there is nothing, as those of the paper did.
    fn link(&self) -> LinkConfig {
        let packets = if self.two_packets { Packets::Two } else { Packets::One };
        LinkConfig { packets, spin: Duration::ZERO, ..LinkConfig::default() }
    }

    fn address(&self) -> Result<LinkAddress, Error> {
        quintet::identified(self.at.clone(), &self.identity, &|_| None)
    }

    fn connect(&self) -> Result<Lab, Error> {
        let config = ConnectConfig::from_environment()?;
        Lab::connect_with(self.address()?, 0, config.lease, self.link())
    }

    /// Says where it serves, and, for each line of its input, what it has used so far.
    fn manage(&self) -> Result<(), Error> {
        let config = ServeConfig { link: self.link(), ..ServeConfig::default() };
        let server = Server::start(self.address()?, &config)?;
        tell_usage(server.addresses())?;
        server.stop()
    }

    /// The same of a kernel.
    fn relay(&self, listen: &LinkAddress) -> Result<(), Error> {
        let config = KernelConfig { link: self.link(), ..KernelConfig::default() };
        let kernel = Kernel::start(std::slice::from_ref(listen), self.address()?, &config)?;
        tell_usage(kernel.addresses())?;
        kernel.stop();
        Ok(())
    }
}

/// Says where this process serves, and, for each line of its input, what it has used so far.
fn tell_usage(addresses: &[LinkAddress]) -> Result<(), Error> {
    say(&json!({"serving": addresses.first().map(LinkAddress::to_string)}))?;
    for _ in stdin().lock().lines().map_while(Result::ok) {
        say(&usage::so_far()?.as_json())?;
    }
    Ok(())
}

fn say(what: &Json) -> Result<(), Error> {
    let mut out = stdout().lock();
    writeln!(out, "{what}").and_then(|()| out.flush()).map_err(refused("say what was found"))
}

/// Says that all is there, and waits for a line: what the manager has used so far is asked meanwhile.
fn wait_to_begin() -> Result<(), Error> {
    say(&json!({"put": true}))?;
    let mut line = String::new();
    stdin().lock().read_line(&mut line).map(drop).map_err(refused("wait to begin"))
}

/// A field that the other programs have put.
fn number(tuple: &Tuple, at: usize) -> Result<i32, Error> {
    match tuple.values().get(at) {
        Some(Value::I32(number)) => Ok(*number),
        other => Err(Error::new(Code::Malformed, format!("a tuple of this program has {other:?}"))),
    }
}

fn numbers(tuple: &Tuple, at: usize) -> Result<Vec<i32>, Error> {
    let array = match tuple.values().get(at) {
        Some(Value::Array(array)) => array.elements::<i32>(),
        _ => None,
    };
    array.ok_or_else(|| Error::new(Code::Malformed, "a tuple of this program has no row"))
}

/// As `worker` of jmatrix.cl does, operation by operation.
fn work(space: &Space) -> Result<Json, Error> {
    space.out(tuple![READY])?;
    space.read(&template![DIMENSION, ?i32])?;
    let before = usage::so_far()?;
    let (mut tasks, mut operations) = (0_u64, 1_u64);
    loop {
        operations += 1;
        let Some(task) = space.take_if(&template![TASK, ?i32, ?i32])? else { break };
        let (row, column) = (number(&task, 1)?, number(&task, 2)?);
        let left = numbers(&space.read(&template![ROW, row, ?ArrayOf<i32, 1>])?, 2)?;
        let right = numbers(&space.read(&template![COLUMN, column, ?ArrayOf<i32, 1>])?, 2)?;
        let result: i32 = left.iter().zip(&right).map(|(a, b)| a * b).sum();
        space.out(tuple![RESULT, row, column, result])?;
        (tasks, operations) = (tasks + 1, operations + 3);
    }
    Ok(json!({"tasks": tasks, "operations": operations, "usage": usage::so_far()?.since(&before).as_json()}))
}

/// As `real_main` of jmatrix.cl does; the time is that of its timer: from when the dimension is there to the last result.
fn multiply(space: &Space, (dimension, workers): (i32, i32), begin: Begin<'_>) -> Result<Json, Error> {
    for _ in 0..workers {
        space.take(&template![READY])?;
    }
    let values: Vec<i32> = (0..2 * dimension).map(|x| x + 2).collect();
    for x in 0..dimension {
        let row = &values[x as usize..(x + dimension) as usize];
        let array = || Array::from_elements(&[row.len() as u64], row);
        let array = || array().map_err(|error| Error::new(Code::Malformed, error.to_string()));
        space.out(tuple![ROW, x, array()?])?;
        space.out(tuple![COLUMN, x, array()?])?;
    }
    for row in 0..dimension {
        for column in 0..dimension {
            space.out(tuple![TASK, row, column])?;
        }
    }
    begin()?;
    space.out(tuple![DIMENSION, dimension])?;
    let (before, began) = (usage::so_far()?, Instant::now());
    let mut sum = 0_i64;
    for _ in 0..dimension * dimension {
        let found = space.take(&template![RESULT, ?i32, ?i32, ?i32])?;
        sum += i64::from(number(&found, 3)?);
    }
    let seconds = began.elapsed().as_secs_f64();
    check(dimension, sum)?;
    let used = usage::so_far()?.since(&before).as_json();
    Ok(json!({"seconds": seconds, "operations": dimension * dimension, "usage": used}))
}

/// Both matrices have at (i, j) the value i + j + 2.
fn check(dimension: i32, sum: i64) -> Result<(), Error> {
    let sum_of_line = |at: i32| (0..dimension).map(|x| i64::from(at + x + 2)).collect::<Vec<_>>();
    let lines: Vec<Vec<i64>> = (0..dimension).map(sum_of_line).collect();
    let product = |a: &Vec<i64>, b: &Vec<i64>| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
    let expected: i64 = lines.iter().flat_map(|row| lines.iter().map(|line| product(row, line))).sum();
    if sum == expected {
        return Ok(());
    }
    Err(Error::new(Code::Malformed, format!("the product's elements add up to {sum}, and not to {expected}")))
}

/// As jblock.cl does: the time of each `out` and `in` together.
fn move_blocks(space: &Space, (blocks, step): (usize, usize), begin: Begin<'_>) -> Result<Json, Error> {
    let block = Bytes::from(vec![b'x'; blocks * step]);
    begin()?;
    let before = usage::so_far()?;
    let mut nanoseconds = Vec::with_capacity(blocks);
    for at in 1..=blocks {
        let size = at * step;
        let began = Instant::now();
        // What C-Linda makes of `char oblock[]`.
        let put = Array::new(ElementType::I8, [size as u64], block.slice(..size));
        space.out(tuple![BLOCK, put.map_err(|error| Error::new(Code::Malformed, error.to_string()))?])?;
        let found = space.take(&template![BLOCK, ?ArrayOf<i8, 1>])?;
        nanoseconds.push(began.elapsed().as_nanos() as u64);
        match found.values() {
            [_, Value::Array(array)] if array.data().len() == size => {}
            _ => return Err(Error::new(Code::Malformed, "a block came back otherwise than it was put")),
        }
    }
    let used = usage::so_far()?.since(&before).as_json();
    Ok(json!({"nanoseconds": nanoseconds, "operations": 2 * blocks, "usage": used}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_product_is_found() {
        // 2 3 by 2 3
        // 3 4    3 4: 13 18 18 25.
        assert!(check(2, 13 + 18 + 18 + 25).is_ok());
        assert!(check(2, 73).is_err());
    }

    #[test]
    fn worker_and_master_multiply_and_blocks_come_back() {
        let lab = Lab::embedded();
        let space = lab.space();
        let worker = std::thread::spawn({
            let space = space.clone();
            move || work(&space)
        });
        let told = multiply(&space, (6, 1), &|| Ok(())).expect("the product is right");
        assert_eq!(told["operations"], 36);
        let told = worker.join().expect("it does not panic").expect("it works");
        // The dimension, and of each task a take and two reads and a put; at last a take that finds nothing.
        assert_eq!((&told["tasks"], &told["operations"]), (&json!(36), &json!(1 + 4 * 36 + 1)));
        let told = move_blocks(&space, (5, 32), &|| Ok(())).expect("they come back");
        assert_eq!(told["nanoseconds"].as_array().map(Vec::len), Some(5));
    }
}
