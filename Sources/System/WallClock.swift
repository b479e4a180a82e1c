import HearthPlatform

/// The time of day: that of `HearthPlatform`, for modules that use this one.
package enum WallClock {
    /// Milliseconds since 1970.
    package static var milliseconds: Int64 { HearthPlatform.WallClock.milliseconds }
}
