//! What the elements of a group did together, under the group's name.

use crate::group::{Sizes, members};
use crate::plan::Plan;
use crate::port;
use crate::result::{MeasureResult, ModuleResult, ProcessorResult, RunResult};
use std::collections::BTreeMap;

impl Plan {
    /// Adds an entry for each group: counts and queues are totals, times those of all its elements, utilisation the mean.
    pub(crate) fn put_together(&self, result: &mut RunResult) {
        enter(&self.groups.processors, &mut result.processors, together);
        port::put_together(&self.ports, result);
        enter(&self.groups.modules, &mut result.modules, modules_together);
        enter(&self.groups.measures, &mut result.measures, measures_together);
    }
}

fn enter<T>(sizes: &Sizes, results: &mut BTreeMap<String, T>, sum_up: fn(&[&T]) -> Option<T>) {
    for (group, size) in sizes {
        let of_group: Vec<_> = members(group, *size).filter_map(|name| results.get(&name)).collect();
        let sum = sum_up(&of_group);
        results.extend(sum.map(|sum| (group.clone(), sum)));
    }
}

#[expect(clippy::cast_precision_loss, reason = "a group has few elements")]
fn together(processors: &[&ProcessorResult]) -> Option<ProcessorResult> {
    let total: f64 = processors.iter().map(|processor| processor.utilisation).sum();
    let lost = processors.iter().map(|processor| processor.lost).sum();
    (!processors.is_empty()).then(|| ProcessorResult { utilisation: total / processors.len() as f64, lost })
}

fn modules_together(modules: &[&ModuleResult]) -> Option<ModuleResult> {
    let mut sum = ModuleResult::default();
    for module in modules {
        sum.activations += module.activations;
        sum.waiting.merge(&module.waiting);
        sum.response.merge(&module.response);
        sum.interval.merge(&module.interval);
        sum.mean_queue += module.mean_queue;
    }
    Some(sum)
}

fn measures_together(measures: &[&MeasureResult]) -> Option<MeasureResult> {
    let (first, rest) = measures.split_first()?;
    let mut sum = (*first).clone();
    for measure in rest {
        match (&mut sum, measure) {
            (MeasureResult::Throughput { per_second }, MeasureResult::Throughput { per_second: more }) => {
                *per_second += more;
            }
            (
                MeasureResult::Times { tally, quantiles },
                MeasureResult::Times { tally: more, quantiles: more_quantiles },
            ) => {
                tally.merge(more);
                quantiles.merge(more_quantiles);
            }
            (
                MeasureResult::Requests { tally, quantiles, late },
                MeasureResult::Requests { tally: more, quantiles: more_quantiles, late: more_late },
            ) => {
                tally.merge(more);
                quantiles.merge(more_quantiles);
                *late += more_late;
            }
            // All measures of a group are of one kind.
            _ => return None,
        }
    }
    Some(sum)
}
