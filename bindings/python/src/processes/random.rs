//! Random values: streams that follow from the run's seed, bit for bit on every machine.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use quintet_contract::Random;
use quintet_simulate::Distribution;

/// The streams of processes; those of the simulation and of a model's modules have other numbers.
const STREAMS: u64 = 0xffff_fff0_0000_0000;
/// Those of sources.
const SOURCES: u64 = 0xffff_fff1_0000_0000;

/// The stream of this name.
pub(super) fn named(seed: u64, name: &str) -> Random {
    // FNV-1a (Fowler, Noll, Vo; RFC 9923): the same on every machine.
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    Random::new(seed, STREAMS | u64::from(hash))
}

/// The stream of a source, by its number.
pub(super) fn of_source(seed: u64, number: u32) -> Random {
    Random::new(seed, SOURCES | u64::from(number))
}

/// A value of a distribution.
fn draw(distribution: &Distribution, random: &mut Random) -> PyResult<f64> {
    distribution.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(distribution.sample(random))
}

/// One of the whole numbers from `low` to `high`, both among them.
fn integer(random: &mut Random, low: i64, high: i64) -> PyResult<i64> {
    if low > high {
        return Err(PyValueError::new_err(format!("low = {low} is above high = {high}")));
    }
    // Differences wrap round as the sum does.
    match high.wrapping_sub(low).cast_unsigned().checked_add(1) {
        Some(count) => Ok(low.wrapping_add(random.below(count).cast_signed())),
        None => Ok(random.bits().cast_signed()),
    }
}

/// A stream of random values of its own: what others draw makes no difference to it.
#[pyclass(subclass, module = "quintet.simulate")]
pub(crate) struct Stream {
    pub(super) random: Random,
}

#[pymethods]
impl Stream {
    /// From 0 up to 1, without 1.
    fn random(&mut self) -> f64 {
        (self.random.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number from `low` to `high`, both among them.
    ///
    /// Raises ValueError if `low` is above `high`.
    fn integer(&mut self, low: i64, high: i64) -> PyResult<i64> {
        integer(&mut self.random, low, high)
    }

    /// Evenly from `low` to `high`; 0 <= low <= high <= 1e100.
    ///
    /// Raises ValueError for others.
    fn uniform(&mut self, low: f64, high: f64) -> PyResult<f64> {
        draw(&Distribution::Uniform { low, high }, &mut self.random)
    }

    /// The normal distribution without its negative values, which are drawn again; parameters from 0 to 1e100.
    ///
    /// Raises ValueError for others.
    fn normal(&mut self, mean: f64, deviation: f64) -> PyResult<f64> {
        draw(&Distribution::Normal { mean, deviation }, &mut self.random)
    }

    /// Times between independent events; a mean from 0 to 1e100.
    ///
    /// Raises ValueError for others.
    fn exponential(&mut self, mean: f64) -> PyResult<f64> {
        draw(&Distribution::Exponential { mean }, &mut self.random)
    }

    /// Counts of independent events; a mean from 0 to 1e9.
    ///
    /// Raises ValueError for others.
    fn poisson(&mut self, mean: f64) -> PyResult<f64> {
        draw(&Distribution::Poisson { mean }, &mut self.random)
    }

    /// The gamma distribution, of mean shape x scale; a shape from 1e-6 to 1e9, a scale from 0 to 1e100.
    ///
    /// Raises ValueError for others.
    fn gamma(&mut self, shape: f64, scale: f64) -> PyResult<f64> {
        draw(&Distribution::Gamma { shape, scale }, &mut self.random)
    }
}
