-- Who needs which generation: "<gen> <who>" each.
return warm_pins(ARGV[1])
