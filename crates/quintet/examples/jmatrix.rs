//! Multiplies two symmetric matrices with workers that take rows and columns from the space: the Linda-LAN paper's benchmark of computing. Its tuples and results
//! are those of `examples/clinda/jmatrix.cl`.
//!
//! ```sh
//! cargo run --release -p quintet --example jmatrix -- [DIMENSION [WORKERS]]    # workers are threads of this process
//! quintet run -n 5 target/release/examples/jmatrix [DIMENSION]                 # workers are processes
//! ```

use quintet::{Array, ArrayOf, Job, Lab, Space, template, tuple};
use std::error::Error;
use std::thread;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |word| word.parse());
    let (dimension, threads): (i32, i32) = (number(30)?, number(5)?);
    let (job, space) = (Job::from_environment()?, Lab::from_environment()?.space());
    if job.rank.is_some() {
        return work(&space);
    }
    // Without workers threads of the master multiply.
    let threads = if job.workers == 0 { threads } else { 0 };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work(&space).expect("the space is there as long as its master"));
        }
        multiply(&space, dimension)
    })?;
    println!("main job: ok, {dimension} x {dimension}, equal to the direct product");
    Ok(())
}

/// The master. Both matrices have at (i, j) the value i + j + 2: row i and column i are the same numbers.
fn multiply(space: &Space, dimension: i32) -> Result<(), Box<dyn Error>> {
    for index in 0..dimension {
        let values: Vec<i32> = (index + 2..index + 2 + dimension).collect();
        let values = Array::from_elements(&[values.len() as u64], &values)?;
        space.out(tuple!["row", index, values.clone()])?;
        space.out(tuple!["column", index, values])?;
    }
    for row in 0..dimension {
        for column in 0..dimension {
            space.out(tuple!["task", row, column])?;
        }
    }
    // The workers wait for this.
    space.out(tuple!["dimension", dimension])?;
    for _ in 0..dimension * dimension {
        let result = space.take(&template!["result", ?i32, ?i32, ?i32])?;
        let [row, column, value] = [1, 2, 3].map(|field| i32::try_from(result[field].clone()));
        let (row, column, value) = (row?, column?, value?);
        println!("result({row},{column}) = {value}");
        let direct: i32 = (0..dimension).map(|k| (row + k + 2) * (column + k + 2)).sum();
        if value != direct {
            return Err(format!("({row},{column}) is {direct}").into());
        }
    }
    Ok(())
}

/// A worker: multiplies rows by columns as long as there are tasks.
fn work(space: &Space) -> Result<(), Box<dyn Error>> {
    space.read(&template!["dimension", ?i32])?;
    while let Some(task) = space.take_if(&template!["task", ?i32, ?i32])? {
        let (row, column) = (task[1].clone(), task[2].clone());
        let rows = space.read(&template!["row", row.clone(), ?ArrayOf<i32, 1>])?;
        let columns = space.read(&template!["column", column.clone(), ?ArrayOf<i32, 1>])?;
        let value: i32 = numbers(&rows)?.iter().zip(numbers(&columns)?).map(|(a, b)| a * b).sum();
        space.out(tuple!["result", row, column, value])?;
    }
    Ok(())
}

/// The numbers of a row or a column.
fn numbers(tuple: &quintet::Tuple) -> Result<Vec<i32>, Box<dyn Error>> {
    Ok(Array::try_from(tuple[2].clone())?.elements().ok_or("whole numbers of 32 bits")?)
}
