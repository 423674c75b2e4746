//! The statistics that graph500 prints.

use anyhow::{Context, Result, ensure};

use crate::{Measurement, Quantity};

pub(super) fn read(text: &str) -> Result<Measurement> {
    let field = |name: &str| {
        let mut fields = text.lines().filter_map(|line| line.split_once(": "));
        let field = fields.find(|(label, _)| *label == name);
        field.map(|(_, value)| value).with_context(|| format!("no line \"{name}\""))
    };
    let validation = field("validation")?;
    ensure!(validation == "SUCCESSFUL", "validation: {validation}");
    // Edges per second of the search, in millions.
    let rate = |name: &str| Ok::<_, anyhow::Error>(field(name)?.parse::<f64>()? * 1e-6);
    Ok(Measurement {
        // As a class has a letter, a graph has a scale.
        operation: format!("scale {}", field("SCALE")?),
        samples: field("NBFS")?.parse()?,
        median: rate("median_TEPS")?,
        low: rate("firstquartile_TEPS")?,
        high: rate("thirdquartile_TEPS")?,
        ..Measurement::blank(Quantity::Rate, "Mop/s")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "SCALE: 16\nNBFS: 64\nfirstquartile_TEPS: 1e+08\nmedian_TEPS: 2.5e+08\n\
        thirdquartile_TEPS: 3e+08\nvalidation: SUCCESSFUL\n";

    #[test]
    fn the_rate_of_valid_searches_is_read() {
        let measurement = read(OUTPUT).unwrap();
        assert_eq!((measurement.median, measurement.samples), (250.0, 64));
        assert_eq!(measurement.operation, "scale 16");
        let wrong = OUTPUT.replace("SUCCESSFUL", "UNSUCCESSFUL");
        assert!(read(&wrong).unwrap_err().to_string().contains("UNSUCCESSFUL"));
        assert!(read("").is_err());
    }
}
