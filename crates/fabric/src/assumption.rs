//! What stands in for a parameter that a machine does not state.

/// A parameter that stands in where a machine states none. Each use is an assumption and is reported as one.
#[derive(Clone, Copy, Debug)]
pub struct Assumption {
    /// A name of [`crate::catalog::vocabulary`].
    pub parameter: &'static str,
    /// The value in `unit`.
    pub value: f64,
    /// A unit of the parameter's dimension.
    pub unit: &'static str,
    /// The least and the most that is plausible, in `unit`.
    pub range: [f64; 2],
    /// Why this value.
    pub source: &'static str,
}

impl Assumption {
    /// The value and its range in base units.
    pub fn base(&self) -> (f64, [f64; 2]) {
        let parameter = crate::catalog::vocabulary::parameter_named(self.parameter);
        let factor = parameter.and_then(|parameter| parameter.dimension.factor(self.unit)).unwrap_or(f64::NAN);
        (self.value * factor, self.range.map(|end| end * factor))
    }
}

/// As the fields of [`Assumption`].
pub(crate) const fn assumption(
    parameter: &'static str,
    value: f64,
    unit: &'static str,
    range: [f64; 2],
    source: &'static str,
) -> Assumption {
    Assumption { parameter, value, unit, range, source }
}
