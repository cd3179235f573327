//! Multiplies two matrices by blocks: one task a block of the product, threads as workers.
//!
//! `cargo run --release -p quintet --example matrix_product -- [A.npy B.npy]`. Without files two matrices are made up. The
//! product is compared with one computed directly.

#[path = "matrix_product/npy.rs"]
mod npy;

use npy::Matrix;
use quintet::{Array, ArrayOf, Lab, Space, Tuple, template, tuple};
use std::error::Error;
use std::process::ExitCode;
use std::thread;

/// Rows and columns of a block.
const BLOCK: usize = 32;
const WORKERS: usize = 4;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    match run(&files) {
        Ok(text) => println!("main job: ok, {text}"),
        Err(error) => {
            println!("main job: FAILED, {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn run(files: &[String]) -> Outcome<String> {
    let (a, b) = match files {
        [] => (made_up(96, 130, 1), made_up(130, 70, 2)),
        [a, b] => (npy::read(a.as_ref())?, npy::read(b.as_ref())?),
        _ => return Err("two files, or none".into()),
    };
    if a.columns != b.rows {
        return Err(format!("{} columns do not meet {} rows", a.columns, b.rows).into());
    }
    let product = multiply(&Lab::embedded(), &a, &b)?;
    let direct = directly(&a, &b);
    // Both sum in the same order, so that not even the last bit may differ.
    let worst = product.elements.iter().zip(&direct.elements).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    if worst > 0.0 {
        return Err(format!("an element differs by {worst:e}").into());
    }
    Ok(format!("{} x {} by {} x {}, equal to the direct product", a.rows, a.columns, b.rows, b.columns))
}

/// The master: the bands of both matrices stay in the space for all to read; a task names a block of the product.
fn multiply(lab: &Lab, a: &Matrix, b: &Matrix) -> Outcome<Matrix> {
    let space = lab.space();
    let (rows, columns) = (starts(a.rows), starts(b.columns));
    for &row in &rows {
        space.out(tuple!["rows", row as i64, array(&a.part(row, 0, BLOCK, a.columns))?])?;
    }
    for &column in &columns {
        space.out(tuple!["columns", column as i64, array(&b.part(0, column, b.rows, BLOCK))?])?;
    }
    let tasks = rows.iter().flat_map(|row| columns.iter().map(|column| (*row as i64, *column as i64)));
    let tasks: Vec<Tuple> = tasks.map(|(row, column)| tuple!["block", row, column]).collect();
    space.out_many(&tasks, None)?;
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let space = lab.space();
            thread::spawn(move || work(&space))
        })
        .collect();
    let mut product = Matrix::zero(a.rows, b.columns);
    for _ in &tasks {
        let done = space.take(&template!["product", ?i64, ?i64, ?ArrayOf<f64, 2>])?;
        let (row, column) = (i64::try_from(done[1].clone())?, i64::try_from(done[2].clone())?);
        product.place(usize::try_from(row)?, usize::try_from(column)?, &matrix(&done, 3)?);
    }
    workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker panicked")?)?;
    Ok(product)
}

/// A worker: takes blocks until there is none. A block that another worker holds is that one's to do.
fn work(space: &Space) -> Outcome<()> {
    while let Some(task) = space.take_if(&template!["block", ?i64, ?i64])? {
        let (row, column) = (task[1].clone(), task[2].clone());
        let rows = matrix(&space.read(&template!["rows", row.clone(), ?ArrayOf<f64, 2>])?, 2)?;
        let columns = matrix(&space.read(&template!["columns", column.clone(), ?ArrayOf<f64, 2>])?, 2)?;
        space.out(tuple!["product", row, column, array(&directly(&rows, &columns))?])?;
    }
    Ok(())
}

fn starts(length: usize) -> Vec<usize> {
    (0..length).step_by(BLOCK).collect()
}

fn array(matrix: &Matrix) -> Outcome<Array> {
    Ok(Array::from_elements(&[matrix.rows as u64, matrix.columns as u64], &matrix.elements)?)
}

fn matrix(tuple: &Tuple, field: usize) -> Outcome<Matrix> {
    let array = Array::try_from(tuple[field].clone())?;
    let [rows, columns] = *array.shape() else { return Err("a matrix has two dimensions".into()) };
    let elements = array.elements::<f64>().ok_or("a matrix of f64")?;
    Ok(Matrix { rows: usize::try_from(rows)?, columns: usize::try_from(columns)?, elements })
}

fn directly(a: &Matrix, b: &Matrix) -> Matrix {
    let mut product = Matrix::zero(a.rows, b.columns);
    for row in 0..a.rows {
        for column in 0..b.columns {
            let terms = (0..a.columns).map(|k| a.at(row, k) * b.at(k, column));
            product.elements[row * b.columns + column] = terms.sum();
        }
    }
    product
}

/// The same numbers each time, between -1 and 1.
fn made_up(rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut state = seed;
    let elements = (0..rows * columns).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    });
    Matrix { rows, columns, elements: elements.collect() }
}
