package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// deploy/compose.yaml follows the Compose specification. Every file that it mounts exists, and its
// nodes run as the image promises.
func TestComposeFileIsValid(t *testing.T) {
	t.Parallel()
	deploy, err := filepath.Abs("../deploy")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(deploy, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: deploy, ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: data}},
		Environment: types.Mapping{"POSTGRES_PASSWORD": "p", "GRAFANA_PASSWORD": "g"},
	})
	if err != nil {
		t.Fatal(err)
	}
	config := imageConfig()
	for name, service := range project.Services {
		for _, volume := range service.Volumes {
			if _, err := os.Stat(volume.Source); volume.Type == types.VolumeTypeBind && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if strings.HasPrefix(name, "node-") && (!service.ReadOnly || !slices.ContainsFunc(service.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == config.WorkingDir })) {
			t.Errorf("%s can write outside of %s, or not inside", name, config.WorkingDir)
		}
	}
	if len(project.Services) != 13 {
		t.Errorf("%d services", len(project.Services))
	}
}

// The manifests have only fields that Kubernetes knows, with values of the right type. What they
// name exists, and a container runs as the image promises.
func TestKubernetesManifestsAreValid(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../deploy/kubernetes/laststand.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]any{
		"ConfigMap": &corev1.ConfigMap{}, "Deployment": &appsv1.Deployment{}, "Service": &corev1.Service{}, "Ingress": &networkingv1.Ingress{},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudget{}, "HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{}, "NetworkPolicy": &networkingv1.NetworkPolicy{},
	}
	documents := strings.Split(string(data), "\n---\n")
	for _, document := range documents {
		var object struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if kinds[object.Kind] == nil {
			t.Fatalf("unknown kind %q", object.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(document), kinds[object.Kind]); err != nil {
			t.Errorf("%s: %v", object.Kind, err)
		}
	}
	if len(documents) != len(kinds) {
		t.Errorf("%d objects, want one of each of %d kinds", len(documents), len(kinds))
	}
	deployment := kinds["Deployment"].(*appsv1.Deployment)
	checkDeployment(t, deployment)
	labels := deployment.Spec.Template.Labels
	for kind, selector := range map[string]map[string]string{
		"Deployment":          deployment.Spec.Selector.MatchLabels,
		"Service":             kinds["Service"].(*corev1.Service).Spec.Selector,
		"PodDisruptionBudget": kinds["PodDisruptionBudget"].(*policyv1.PodDisruptionBudget).Spec.Selector.MatchLabels,
		"NetworkPolicy":       kinds["NetworkPolicy"].(*networkingv1.NetworkPolicy).Spec.PodSelector.MatchLabels,
	} {
		if len(selector) == 0 || selector["app"] != labels["app"] {
			t.Errorf("%s selects %v, the pods have %v", kind, selector, labels)
		}
	}
	if target := kinds["HorizontalPodAutoscaler"].(*autoscalingv2.HorizontalPodAutoscaler).Spec.ScaleTargetRef; target.Name != deployment.Name || target.Kind != "Deployment" {
		t.Errorf("the autoscaler scales %+v", target)
	}
}

func checkDeployment(t *testing.T, deployment *appsv1.Deployment) {
	t.Helper()
	pod, config := deployment.Spec.Template.Spec, imageConfig()
	server := pod.Containers[0]
	if context := server.SecurityContext; !*context.ReadOnlyRootFilesystem || *context.AllowPrivilegeEscalation || *pod.SecurityContext.RunAsUser != imageUser {
		t.Errorf("the container runs with %+v", context)
	}
	if server.Lifecycle.PreStop.Sleep.Seconds <= 0 || *pod.TerminationGracePeriodSeconds < 60+server.Lifecycle.PreStop.Sleep.Seconds {
		t.Error("a pod has no time to drain")
	}
	var volumes, ports []string
	for _, volume := range pod.Volumes {
		volumes = append(volumes, volume.Name)
	}
	for _, port := range server.Ports {
		ports = append(ports, port.Name)
	}
	isDataMounted := false
	for _, mount := range server.VolumeMounts {
		isDataMounted = isDataMounted || mount.MountPath == config.WorkingDir
		if !slices.Contains(volumes, mount.Name) {
			t.Errorf("no volume %s", mount.Name)
		}
	}
	for _, probe := range []*corev1.Probe{server.StartupProbe, server.ReadinessProbe, server.LivenessProbe} {
		if !slices.Contains(ports, probe.HTTPGet.Port.String()) {
			t.Errorf("no port %s", &probe.HTTPGet.Port)
		}
	}
	if !isDataMounted {
		t.Errorf("nothing is mounted at %s", config.WorkingDir)
	}
}
