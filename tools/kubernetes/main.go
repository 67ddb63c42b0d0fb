// Command kubernetes reads manifests as the API server does with strict field validation: unknown
// fields, fields that stand twice and values of the wrong type are errors. It also looks that what a
// pod names is there. A module of its own keeps the types of the API out of the product's
// dependencies. scripts/setup builds it, and a test of deploy/ runs it.
package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func main() {
	var errs []error
	for _, file := range os.Args[1:] {
		text, err := os.ReadFile(file)
		if err == nil {
			err = check(text)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
	}
	if err := errors.Join(errs...); err != nil || len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		os.Exit(1)
	}
}

var separator = regexp.MustCompile(`(?m)^---$`)

// check reads every document of a file.
func check(text []byte) error {
	var errs []error
	for _, document := range separator.Split(string(text), -1) {
		data, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			return err
		}
		var about struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := json.UnmarshalCaseSensitivePreserveInts(data, &about); err != nil {
			return err
		}
		object, err := object(about.APIVersion + " " + about.Kind)
		if err != nil {
			return err
		}
		strict, err := json.UnmarshalStrict(data, object)
		errs = append(errs, append(strict, err)...)
		if d, ok := object.(*apps.Deployment); ok {
			errs = append(errs, checkPod(d))
		}
	}
	return errors.Join(errs...)
}

func object(kind string) (any, error) {
	switch kind {
	case "apps/v1 Deployment":
		return new(apps.Deployment), nil
	case "v1 Service":
		return new(core.Service), nil
	case "v1 ConfigMap":
		return new(core.ConfigMap), nil
	case "v1 Secret":
		return new(core.Secret), nil
	case "policy/v1 PodDisruptionBudget":
		return new(policy.PodDisruptionBudget), nil
	}
	return nil, fmt.Errorf("unknown kind %s", kind)
}

var tagged = regexp.MustCompile(`:[0-9][^:/]*$`)

// checkPod looks that a deployment selects its pods, that their mounts have volumes, and that their
// images have the tag of a version.
func checkPod(d *apps.Deployment) error {
	if d.Spec.Selector == nil {
		return errors.New("spec.selector is missing")
	}
	for name, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[name] != value {
			return fmt.Errorf("the pods do not have the label %s=%s", name, value)
		}
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == "" || !tagged.MatchString(c.Image) {
			return fmt.Errorf("the image %q of the container %q has no version", c.Image, c.Name)
		}
		for _, mount := range c.VolumeMounts {
			if !slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v core.Volume) bool { return v.Name == mount.Name }) {
				return fmt.Errorf("the mount %s has no volume", mount.Name)
			}
		}
	}
	return nil
}
