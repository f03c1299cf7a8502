//! Units that people write behind numbers, to say what is written instead.

/// What a number in `unit` is multiplied by, to be in SI units; `None` where that is no unit.
pub(crate) fn factor(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "m" | "meter" | "metre" | "meters" | "metres" | "s" | "sec" | "second" | "seconds"
        | "kg" | "N" | "Nm" | "J" | "W" | "Pa" | "Hz" | "rad" | "radian" | "radians" | "Ns"
        | "K" => "1",
        "km" | "kN" | "kPa" | "kJ" | "kW" | "kHz" | "kNm" | "t" | "tonne" => "1e3",
        "MPa" | "MN" | "MJ" | "MW" => "1e6",
        "GPa" => "1e9",
        "cm" => "1e-2",
        "dm" => "1e-1",
        "mm" | "ms" | "g" | "gram" | "grams" | "mN" => "1e-3",
        "um" | "µm" | "μm" | "us" | "µs" | "μs" | "mg" => "1e-6",
        "min" => "60",
        "h" | "hour" | "hours" => "3600",
        "deg" | "degree" | "degrees" => "pi/180",
        "rpm" => "pi/30",
        "inch" | "in" => "0.0254",
        "ft" => "0.3048",
        "bar" => "1e5",
        _ => return None,
    })
}
