//! Quantities and distributions: units, dimensions, ranges.

use super::Resolver;
use crate::dimension::{Dimension, Unit};
use crate::expression::{Fault, evaluate};
use crate::keys::Takes;
use crate::problem::ProblemKind;
use crate::quantity::{Draw, Quantity};
use quintet_contract::Stage;
use quintet_simulate::{Costs, Distribution, DistributionError, Empirical, Picos};
use std::collections::BTreeMap;

/// What a value should measure. With a cycle, times count as so many cycles.
#[derive(Clone, Copy)]
struct Target {
    dimension: Dimension,
    cycle: Option<Picos>,
}

impl Resolver<'_> {
    /// Parameters may use each other: they are computed in rounds, until nothing is left that can be.
    pub(super) fn resolve_parameters(&mut self) {
        let model = self.model;
        let mut open: Vec<_> = model.parameters.iter().collect();
        open.retain(|(name, _)| {
            let is_good = is_name(name);
            if !is_good {
                let found = (*name).clone();
                let expected = "letters, digits and _, and no unit or function".to_owned();
                self.problem(&format!("parameters.{name}"), ProblemKind::OutOfRange { found, expected });
            }
            is_good
        });
        loop {
            let before = open.len();
            open.retain(|(name, quantity)| {
                let later = |fault: &Fault| matches!(fault, Fault::UnknownName { name, .. } if model.parameters.contains_key(name));
                if matches!(evaluate(quantity.text(), &self.parameters), Err(error) if later(&error.fault)) {
                    return true;
                }
                let value = self.evaluate(&format!("parameters.{name}"), quantity, Dimension::NUMBER);
                // One that has a problem counts as 1, so that it is reported once.
                self.parameters.insert((*name).clone(), value.unwrap_or(1.0));
                false
            });
            if open.len() == before {
                break;
            }
        }
        for (name, _) in open {
            self.contradiction(&format!("parameters.{name}"), "is computed from itself".to_owned());
            self.parameters.insert(name.clone(), 1.0);
        }
    }

    /// The value in base units; none with a problem reported.
    pub(super) fn evaluate(&mut self, key: &str, quantity: &Quantity, dimension: Dimension) -> Option<f64> {
        self.evaluate_for(key, quantity, Target { dimension, cycle: None })
    }

    fn evaluate_for(&mut self, key: &str, quantity: &Quantity, target: Target) -> Option<f64> {
        let found = quantity.text().to_owned();
        let measured = match evaluate(&found, &self.parameters) {
            Ok(measured) => measured,
            Err(cause) => {
                self.problem(key, ProblemKind::NoExpression { text: found, cause });
                return None;
            }
        };
        let expected = target.dimension;
        match (measured.dimension, target.cycle) {
            (found, _) if found == expected => return Some(measured.value),
            (Dimension::TIME, Some(cycle)) => return Some(measured.value / cycle.as_seconds()),
            (Dimension::NUMBER, _) => self.problem(key, ProblemKind::MissingUnit { found, expected }),
            (measures, _) => self.problem(key, ProblemKind::WrongDimension { found, measures, expected }),
        }
        None
    }

    /// The value if what the key takes allows it; none with a problem reported.
    pub(super) fn in_range(&mut self, key: &str, text: &str, value: f64, takes: Takes) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
        let good = match takes {
            Takes::Quantity(_, least, largest) => (least..=largest).contains(&value),
            Takes::Count(least, most) => {
                value.fract() == 0.0 && (least as f64..=most as f64).contains(&value)
            }
            _ => true,
        };
        if good {
            return Some(value);
        }
        let (found, expected) = (format!("\"{text}\""), takes.text());
        self.problem(key, ProblemKind::OutOfRange { found, expected });
        None
    }

    /// A whole number from `least` to `most`; the least with a problem reported.
    pub(super) fn count(&mut self, key: &str, quantity: &Quantity, least: u64, most: u64) -> u64 {
        let value = self.evaluate(key, quantity, Dimension::NUMBER);
        let value =
            value.and_then(|value| self.in_range(key, quantity.text(), value, Takes::Count(least, most)));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range and whole")]
        value.map_or(least, |value| value as u64)
    }

    /// The distribution in base units; with a problem reported, some distribution.
    pub(super) fn distribution(&mut self, key: &str, draw: &Draw, dimension: Dimension) -> Distribution {
        self.distribution_for(key, draw, Target { dimension, cycle: None })
    }

    fn distribution_for(&mut self, key: &str, draw: &Draw, target: Target) -> Distribution {
        let before = self.problems.len();
        let number = Target { dimension: Dimension::NUMBER, cycle: None };
        let mut value = |quantity: &Quantity, target| self.evaluate_for(key, quantity, target).unwrap_or(1.0);
        let mut table = |pairs: &[(Quantity, Quantity)]| -> Vec<(f64, f64)> {
            pairs.iter().map(|(one, other)| (value(one, target), value(other, number))).collect()
        };
        let found = match draw {
            Draw::Sample(sample) => {
                let one = value(&sample.unit(), target);
                let scaled = |(value, weight): &(f64, f64)| (value * one, *weight);
                Empirical::weighted(&sample.values().iter().map(scaled).collect::<Vec<_>>())
                    .map(Distribution::Empirical)
            }
            Draw::Weighted(pairs) => Empirical::weighted(&table(pairs)).map(Distribution::Empirical),
            Draw::Cumulative(pairs) => Empirical::cumulative(&table(pairs)).map(Distribution::Empirical),
            Draw::Constant(constant) => Ok(Distribution::Constant(value(constant, target))),
            Draw::Uniform { low, high } => {
                Ok(Distribution::Uniform { low: value(low, target), high: value(high, target) })
            }
            Draw::Normal { mean, deviation } => {
                Ok(Distribution::Normal { mean: value(mean, target), deviation: value(deviation, target) })
            }
            Draw::Exponential { mean } => Ok(Distribution::Exponential { mean: value(mean, target) }),
            // Counts cannot be scaled: a Poisson number of seconds is no Poisson number of cycles.
            Draw::Poisson { mean } => {
                Ok(Distribution::Poisson { mean: value(mean, Target { cycle: None, ..target }) })
            }
            Draw::Gamma { shape, scale } => {
                Ok(Distribution::Gamma { shape: value(shape, number), scale: value(scale, target) })
            }
            Draw::Weibull { shape, scale } => {
                Ok(Distribution::Weibull { shape: value(shape, number), scale: value(scale, target) })
            }
            Draw::Pareto { shape, minimum, maximum } => Ok(Distribution::Pareto {
                shape: value(shape, number),
                minimum: value(minimum, target),
                maximum: maximum.as_ref().map_or(f64::INFINITY, |maximum| value(maximum, target)),
            }),
            Draw::LogNormal { mean, deviation } => {
                let (mean, deviation) = (value(mean, target), value(deviation, target));
                // Said here: what is made of these has other parameters.
                let checked = Distribution::Normal { mean, deviation }.check();
                checked.map(|()| Distribution::log_normal(mean, deviation))
            }
            Draw::LogNormalMedian { median, sigma } => {
                Ok(Distribution::LogNormal { median: value(median, target), sigma: value(sigma, number) })
            }
            Draw::Beta { a, b, low, high } => Ok(Distribution::Beta {
                a: value(a, number),
                b: value(b, number),
                low: value(low, target),
                high: value(high, target),
            }),
        };
        let checked = found.and_then(|distribution| distribution.check().map(|()| distribution));
        match checked {
            Ok(distribution) => {
                if distribution.mean().is_infinite() {
                    let text =
                        "its mean is infinite: what is measured of it does not settle; a maximum bounds it";
                    self.warning(key, ProblemKind::Contradiction { text: text.to_owned() });
                }
                distribution
            }
            Err(error) => {
                if self.problems.len() == before {
                    self.problem(key, impossible(draw, error));
                }
                Distribution::Constant(1.0)
            }
        }
    }

    /// The costs of a repertoire in cycles, by stages numbered in the order of the names.
    pub(super) fn resolve_instructions(
        &mut self,
        path: &str,
        instructions: &BTreeMap<String, Draw>,
        cycle: Picos,
    ) -> Costs {
        let target = Target { dimension: Dimension::CYCLES, cycle: Some(cycle) };
        let mut costs = Costs::new();
        for (index, (name, draw)) in instructions.iter().enumerate() {
            let cost = self.distribution_for(&format!("{path}.instructions.{name}"), draw, target);
            match u8::try_from(index) {
                Ok(number) => drop(costs.insert(Stage(number), cost)),
                Err(_) => {
                    let (found, expected) =
                        (format!("{} instructions", instructions.len()), "at most 256".to_owned());
                    self.problem(
                        &format!("{path}.instructions"),
                        ProblemKind::OutOfRange { found, expected },
                    );
                    break;
                }
            }
        }
        costs
    }
}

/// Whether an expression can have this name for something of the model.
pub(super) fn is_name(name: &str) -> bool {
    let is_taken = Unit::find(name).is_some() || ["ceil", "floor", "min", "max"].contains(&name);
    let is_like_one = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    !is_taken && is_like_one
}

/// Why a distribution cannot be, in the words of the file: the check knows its parameters in base units only.
fn impossible(draw: &Draw, error: DistributionError) -> ProblemKind {
    let written = |parameter: &str| draw.parameter(parameter).map(|text| format!("{parameter} = \"{text}\""));
    match error {
        DistributionError::OutOfRange { parameter: "sigma", .. } if written("sigma").is_none() => {
            let text = match (written("mean"), written("deviation")) {
                (Some(mean), Some(deviation)) => {
                    format!("no log-normal distribution has {mean} and {deviation}")
                }
                _ => error.to_string(),
            };
            ProblemKind::Contradiction { text }
        }
        DistributionError::OutOfRange { parameter, least, largest, .. } => {
            let found = match draw {
                Draw::Constant(value) => Some(format!("\"{value}\"")),
                _ => written(parameter),
            };
            let expected = match least {
                0.0 => "at least 0".to_owned(),
                _ => format!("from {least:e} to {largest:e}"),
            };
            found
                .map_or(ProblemKind::Distribution(error), |found| ProblemKind::OutOfRange { found, expected })
        }
        DistributionError::Reversed { .. } => match (
            written("low").or_else(|| written("minimum")),
            written("high").or_else(|| written("maximum")),
        ) {
            (Some(low), Some(high)) => ProblemKind::Contradiction { text: format!("{low} is above {high}") },
            _ => ProblemKind::Distribution(error),
        },
        error => ProblemKind::Distribution(error),
    }
}
