/// Must be found: proves that the code is instrumented and that a crash fails the run.
@c(LLVMFuzzerTestOneInput)
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    let magic: StaticString = "bird"
    var matched = 0
    for (byte, wanted) in zip(bytes, UnsafeBufferPointer(start: magic.utf8Start, count: magic.utf8CodeUnitCount)) {
        guard byte == wanted else { break }
        matched += 1
    }
    precondition(matched < 4, "the canary is dead, as it should be")
    return 0
}
