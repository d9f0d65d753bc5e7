package redisqueue

import (
	"testing"

	"laststand/internal/trial"
)

func TestMain(m *testing.M) { trial.Main(m) }
