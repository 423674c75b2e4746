//! The parameters that describe a machine to the cost model.

use std::fmt;

/// Parameters of the cost model. All times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Parameters {
    /// α: a flag from one core to another.
    pub alpha: f64,
    /// β: copying a byte that the core's own caches hold.
    pub beta: f64,
    /// γ: combining a byte of a source, which the core's own caches hold, into a result.
    pub gamma: f64,
    /// σ: ending a PE's turn on a core and beginning another's.
    pub sigma: f64,
    /// Copying a byte from memory to memory.
    pub memory: f64,
    /// How many times one core's memory bandwidth all cores have together.
    pub streams: f64,
    /// Bytes of a core's own caches.
    pub cache: f64,
    /// A flag to a core of another socket.
    pub socket_alpha: f64,
    /// What a flag that crosses occupies the link between sockets for.
    pub socket_flag: f64,
    /// The same of a cache line of data.
    pub socket_line: f64,
}

/// A parameter: name, unit, meaning and accessor.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name in files and options.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Meaning, for people.
    pub meaning: &'static str,
    /// Its field.
    pub of: fn(&mut Parameters) -> &mut f64,
}

impl Parameter {
    const fn new(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        of: fn(&mut Parameters) -> &mut f64,
    ) -> Self {
        Self { name, unit, meaning, of }
    }
}

impl fmt::Display for Parameters {
    /// As in `alpha 150 ns, beta 0.0200 ns/B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parameters = *self;
        for (i, parameter) in Self::TABLE.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let Parameter { name, unit, .. } = parameter;
            let value = *(parameter.of)(&mut parameters);
            // Three digits; a logarithm would come from libm, a shared library more to load.
            let digits = (0..6).find(|digits| value.abs() * 10f64.powi(*digits) >= 100.0);
            let digits = digits.unwrap_or(6) as usize;
            write!(f, "{comma}{name} {value:.digits$} {unit}")?;
        }
        Ok(())
    }
}

impl Parameters {
    /// Values for a machine without measurements: those that `oshtune` found on a two-core virtual
    /// machine (Intel Sapphire Rapids), rounded. Four cores are assumed to saturate the memory. The values between
    /// sockets are assumptions that no machine has confirmed.
    pub fn default_for(cores: usize) -> Self {
        Self {
            alpha: 150.0,
            beta: 0.02,
            gamma: 0.009,
            sigma: 1200.0,
            memory: 0.07,
            streams: cores.clamp(1, 4) as f64,
            cache: 2.0 * 1024.0 * 1024.0,
            socket_alpha: 450.0,
            socket_flag: 9.0,
            socket_line: 3.0,
        }
    }

    /// The parameter of this name.
    pub fn named(&mut self, name: &str) -> Option<&mut f64> {
        let parameter = Self::TABLE.iter().find(|p| p.name == name)?;
        Some((parameter.of)(self))
    }

    /// All of them.
    pub const TABLE: [Parameter; 10] = [
        Parameter::new("alpha", "ns", "to pass a flag, or a message, to another core", |p| &mut p.alpha),
        Parameter::new("beta", "ns/B", "to copy a byte in cache", |p| &mut p.beta),
        Parameter::new("gamma", "ns/B", "to combine a byte of a source in cache", |p| &mut p.gamma),
        Parameter::new("sigma", "ns", "to schedule a PE on a core that it shares", |p| &mut p.sigma),
        Parameter::new("memory", "ns/B", "to copy a byte from memory to memory", |p| &mut p.memory),
        Parameter::new("streams", "times", "one core's memory bandwidth for all cores together", |p| &mut p.streams),
        Parameter::new("cache", "B", "of cache that a core has for itself", |p| &mut p.cache),
        Parameter::new("socket_alpha", "ns", "to pass a flag to another socket", |p| &mut p.socket_alpha),
        Parameter::new("socket_flag", "ns", "that such a flag occupies the link between sockets", |p| {
            &mut p.socket_flag
        }),
        Parameter::new("socket_line", "ns", "that a cache line of data occupies the link", |p| &mut p.socket_line),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_named() {
        let mut parameters = Parameters::default_for(2);
        for (i, parameter) in Parameters::TABLE.iter().enumerate() {
            let value = parameters.named(parameter.name).expect("it is in the table");
            *value = 1.5 + i as f64;
        }
        assert_eq!(parameters.named("omega"), None);
        assert_eq!(
            parameters.to_string(),
            "alpha 1.50 ns, beta 2.50 ns/B, gamma 3.50 ns/B, sigma 4.50 ns, memory 5.50 ns/B, \
             streams 6.50 times, cache 7.50 B, socket_alpha 8.50 ns, socket_flag 9.50 ns, socket_line 10.5 ns"
        );
        let all = [
            parameters.alpha, parameters.beta, parameters.gamma, parameters.sigma, parameters.memory,
            parameters.streams, parameters.cache, parameters.socket_alpha, parameters.socket_flag,
            parameters.socket_line,
        ];
        assert!(all.is_sorted(), "{parameters:?}");
    }
}
