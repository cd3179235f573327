//! Puts ever larger blocks into the space and takes them out again: the Linda-LAN paper's benchmark of input and output. Its tuples are those of
//! `examples/clinda/jblock.cl`.
//!
//! ```sh
//! cargo run --release -p quintet --example jblock -- [BLOCKS [STEP]]    # blocks; bytes of the first, and by which each is larger
//! QUINTET_SPACE=shm:./space target/release/examples/jblock 10000 32    # in a space that another process serves
//! ```

use quintet::{Array, ArrayOf, Job, Lab, template, tuple};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |word| word.parse());
    let (blocks, step): (usize, usize) = (number(1000)?, number(32)?);
    // The master does it all: workers have nothing to do.
    if Job::from_environment()?.rank.is_some() {
        return Ok(());
    }
    let space = Lab::from_environment()?.space();
    let largest = vec![b'x' as i8; blocks * step];
    let (mut times, start) = (Vec::with_capacity(blocks), Instant::now());
    for size in (1..=blocks).map(|number| number * step) {
        times.push((start.elapsed(), size));
        let block = Array::from_elements(&[size as u64], &largest[..size])?;
        space.out(tuple!["block", block.clone()])?;
        let taken = space.take(&template!["block", ?ArrayOf<i8, 1>])?;
        if taken[1] != block.into() {
            return Err(format!("another block than the one of {size} bytes that was put").into());
        }
    }
    let total = start.elapsed();
    for (time, size) in times {
        println!("{:12.6} s  size - {size}", time.as_secs_f64());
    }
    println!("main job: ok, {blocks} blocks in {:.6} s, each as it was put", total.as_secs_f64());
    Ok(())
}
