//! Matrices, and those that NumPy wrote: `numpy.save("a.npy", a)` with `a` of two dimensions of float64 in C order.
//!
//! The format: the magic `\x93NUMPY`, a version, the header's length, and a header that is a Python dictionary; then the elements.

use std::error::Error;
use std::path::Path;

/// A matrix, row by row.
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) elements: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zero(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, elements: vec![0.0; rows * columns] }
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        self.elements[row * self.columns + column]
    }

    /// At most `rows` times `columns` from here; fewer at the edges.
    pub(crate) fn part(&self, row: usize, column: usize, rows: usize, columns: usize) -> Matrix {
        let (rows, columns) = (rows.min(self.rows - row), columns.min(self.columns - column));
        let lines =
            (row..row + rows).flat_map(|row| (column..column + columns).map(move |column| (row, column)));
        Matrix { rows, columns, elements: lines.map(|(row, column)| self.at(row, column)).collect() }
    }

    /// Puts `part` here.
    pub(crate) fn place(&mut self, row: usize, column: usize, part: &Matrix) {
        for (index, line) in part.elements.chunks(part.columns).enumerate() {
            let start = (row + index) * self.columns + column;
            self.elements[start..start + part.columns].copy_from_slice(line);
        }
    }
}

/// Reads a matrix.
pub(crate) fn read(path: &Path) -> Result<Matrix, Box<dyn Error + Send + Sync>> {
    parse(&std::fs::read(path)?).map_err(|problem| format!("{}: {problem}", path.display()).into())
}

fn parse(bytes: &[u8]) -> Result<Matrix, &'static str> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("not a file of NumPy")?;
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (u32::from_le_bytes([*a, *b, 0, 0]), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]), rest),
        _ => return Err("an unknown version"),
    };
    let (header, data) = rest.split_at_checked(length as usize).ok_or("cut short")?;
    let header = std::str::from_utf8(header).map_err(|_| "a header that is not text")?;
    if !header.contains("'descr': '<f8'") || !header.contains("'fortran_order': False") {
        return Err("not float64, little-endian, in C order");
    }
    let (_, shape) = header.split_once("'shape': (").ok_or("no shape")?;
    let (shape, _) = shape.split_once(')').ok_or("no end of the shape")?;
    let shape: Option<Vec<usize>> = shape.split(',').map(|size| size.trim().parse().ok()).collect();
    let [rows, columns] = shape.unwrap_or_default()[..] else { return Err("not two dimensions") };
    let bytes = rows.checked_mul(columns).and_then(|count| count.checked_mul(8));
    if bytes != Some(data.len()) {
        return Err("not as long as its shape says");
    }
    let (elements, _) = data.as_chunks::<8>();
    Ok(Matrix { rows, columns, elements: elements.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect() })
}
