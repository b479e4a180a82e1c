import CHearthFaults

/// Names whose look-up takes as long as a test wants. One test at a time.
package enum HangingLookups {
    package static let name = "a.hanging.test"

    /// How many threads look it up.
    package static var count: Int { Int(faults_lookup_count()) }

    /// Lets them find nothing.
    package static func end() { faults_end_lookups() }
}
