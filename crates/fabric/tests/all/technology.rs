//! Technologies and the vocabulary of parameters.

use hotlink_fabric::catalog::vocabulary::{PARAMETERS, parameter_named};
use hotlink_fabric::technology::TECHNOLOGIES;

#[test]
fn names_are_sorted_and_unique() {
    assert!(TECHNOLOGIES.windows(2).all(|pair| pair[0].name < pair[1].name));
    assert!(PARAMETERS.windows(2).all(|pair| pair[0].name < pair[1].name));
}

#[test]
fn parameters_of_a_size_end_in_its_bytes() {
    assert_eq!(parameter_named("copy_time_of_4096").unwrap().name, "copy_time_of_");
    for wrong in
        ["copy_time_of_", "copy_time_of_4k", "copy_time_of_-1", "copy_time_of", "copy_time_of_9999999999999999"]
    {
        assert!(parameter_named(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn every_statement_has_a_source_and_every_assumption_a_parameter_and_a_range_that_holds_it() {
    for technology in TECHNOLOGIES {
        let sources = [
            technology.flow_control.source,
            technology.adapter.source,
            technology.routing.source,
            technology.paths.source,
            technology.streams.source,
        ];
        assert!(sources.iter().all(|source| !source.is_empty()), "{}", technology.name);
        let found = PARAMETERS.iter().filter_map(|parameter| technology.assumption(parameter.name));
        for assumption in technology.assumptions.iter().chain(found) {
            let parameter = parameter_named(assumption.parameter).expect(assumption.parameter);
            assert!(parameter.dimension.factor(assumption.unit).is_some(), "{}", assumption.parameter);
            let [low, high] = assumption.range;
            assert!((low..=high).contains(&assumption.value), "{}: {}", technology.name, assumption.parameter);
            assert!(!assumption.source.is_empty());
        }
    }
}
